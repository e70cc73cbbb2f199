package chatgpt

import (
	"errors"

	"shunt/internal/family"
	"shunt/internal/oauth"
)

var (
	vendor      = oauth.Vendor{TokenURL: "https://auth.openai.com/oauth/token", ClientID: "app_EMoamEEZ73f0CkXaXp7hrann"}
	credentials = family.CredentialsFile{Login: "tokens", Access: "access_token", Refresh: "refresh_token", Expires: "expires", Account: "account"}
)

func findOrigin(func(string) string) (family.Origin, error) {
	return family.Origin{}, errors.New("there is none")
}
