package chatgpt

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"

	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// vendor is the authorization server for ChatGPT accounts (GPT-3, GPT-9).
var vendor = oauth.Vendor{
	TokenURL:       "https://auth.openai.com/oauth/token",
	TokenURLEnv:    "SHUNT_CODEX_TOKEN_URL",
	OriginEnv:      "SHUNT_CODEX_AUTH_URL",
	ClientID:       "app_EMoamEEZ73f0CkXaXp7hrann",
	AuthorizeURL:   "https://auth.openai.com/oauth/authorize",
	AuthorizeQuery: map[string]string{"id_token_add_organizations": "true", "codex_cli_simplified_flow": "true"},
	Scope:          "openid profile email offline_access api.connectors.read api.connectors.invoke",
	CallbackPort:   1455,
	CallbackPath:   "/auth/callback",
	Device: &oauth.DeviceFlow{
		CodeURL:  "https://auth.openai.com/api/accounts/deviceauth/usercode",
		PollURL:  "https://auth.openai.com/api/accounts/deviceauth/token",
		Page:     "https://auth.openai.com/codex/device",
		Secret:   "device_auth_id",
		Redirect: "https://auth.openai.com/deviceauth/callback",
		Pending:  []int{http.StatusForbidden, http.StatusNotFound},
	},
	RefreshWithoutScope: true,
	PartialRefresh:      true,
	Encode:              encode,
	Expires:             func(accessToken string) time.Time { return claimsOf(accessToken).expires },
	ErrorCode:           errorCode,
	Rejects:             rejects,
	Owner:               ownerIn,
}

// encode writes the exchange of a code as a form (GPT-9), and everything else as JSON (GPT-3).
func encode(fields map[string]any) (body []byte, mediaType string, err error) {
	if fields["grant_type"] == "authorization_code" {
		return oauth.Form(fields)
	}
	return oauth.JSON(fields)
}

// errorCode returns the code of an error, which has been seen in three places (GPT-3).
func errorCode(response map[string]json.RawMessage) string {
	return cmp.Or(textOf(membersOf(response["error"])["code"]), textOf(response["error"]), textOf(response["code"]))
}

// finalCodes are the codes of a refresh token that the provider will never accept again (GPT-3).
var finalCodes = []string{"refresh_token_expired", "refresh_token_reused", "refresh_token_invalidated", "invalid_grant"}

// rejects reports whether a refresh token is invalid. The provider responds 401 to nothing else (GPT-3).
func rejects(status int, code string) bool {
	return status == http.StatusUnauthorized || slices.Contains(finalCodes, code)
}

// ownerIn returns the account and the user whom the tokens in a response name (GPT-4).
func ownerIn(response map[string]json.RawMessage) oauth.Owner {
	return ownerOf("", claimsOf(textOf(response["access_token"])), claimsOf(textOf(response["id_token"])))
}

var errKeyring = errors.New("the login of Codex is in the system's keyring, which shunt does not read (cli_auth_credentials_store in its config.toml)")

// usesKeyring reports whether Codex may keep its login in the system's keyring.
func usesKeyring(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "config.toml"))
	var config struct {
		Store string `toml:"cli_auth_credentials_store"`
	}
	return err == nil && toml.Unmarshal(text, &config) == nil && (config.Store == "keyring" || config.Store == "auto")
}

// findOrigin returns the login of Codex in $CODEX_HOME or in the home directory (GPT-9). The file names its own account.
func findOrigin(getenv func(string) string) (family.Origin, error) {
	home, err := userfile.Home(getenv)
	if err != nil && getenv("CODEX_HOME") == "" {
		return family.Origin{}, err
	}
	dir := cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex"))
	path := filepath.Join(dir, "auth.json")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && usesKeyring(dir) {
		return family.Origin{}, errKeyring
	}
	return family.Origin{Credentials: path, Profile: path, Owner: func() (oauth.Owner, error) { return oauth.Owner{}, nil }}, nil
}
