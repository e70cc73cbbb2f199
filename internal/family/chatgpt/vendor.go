package chatgpt

import (
	"cmp"
	"path/filepath"

	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// vendor is the authorization server for ChatGPT accounts (GPT-3).
var vendor = oauth.Vendor{
	TokenURL: "https://auth.openai.com/oauth/token", TokenURLEnv: "SHUNT_CODEX_TOKEN_URL", ClientID: "app_EMoamEEZ73f0CkXaXp7hrann",
}

// findOrigin returns the login of Codex in $CODEX_HOME or in the home directory (GPT-9). The file names its own account.
func findOrigin(getenv func(string) string) (family.Origin, error) {
	home, err := userfile.Home(getenv)
	if err != nil && getenv("CODEX_HOME") == "" {
		return family.Origin{}, err
	}
	path := filepath.Join(cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "auth.json")
	return family.Origin{Credentials: path, Profile: path, Owner: func() (oauth.Owner, error) { return oauth.Owner{}, nil }}, nil
}
