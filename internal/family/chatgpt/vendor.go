package chatgpt

import (
	"cmp"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// vendor is the authorization server for ChatGPT accounts (GPT-3).
var vendor = oauth.Vendor{
	TokenURL:            "https://auth.openai.com/oauth/token",
	TokenURLEnv:         "SHUNT_CODEX_TOKEN_URL",
	OriginEnv:           "SHUNT_CODEX_AUTH_URL",
	ClientID:            "app_EMoamEEZ73f0CkXaXp7hrann",
	RefreshWithoutScope: true,
	PartialRefresh:      true,
	Encode:              encode,
	Expires:             func(accessToken string) time.Time { return claimsOf(accessToken).expires },
	ErrorCode:           errorCode,
	Rejects:             rejects,
	Owner:               ownerIn,
}

// encode writes a refresh as JSON (GPT-3) and the exchange of a code as a form (GPT-9).
func encode(fields map[string]any) (body []byte, mediaType string, err error) {
	if fields["grant_type"] == "refresh_token" {
		return oauth.JSON(fields)
	}
	return oauth.Form(fields)
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

// findOrigin returns the login of Codex in $CODEX_HOME or in the home directory (GPT-9). The file names its own account.
func findOrigin(getenv func(string) string) (family.Origin, error) {
	home, err := userfile.Home(getenv)
	if err != nil && getenv("CODEX_HOME") == "" {
		return family.Origin{}, err
	}
	path := filepath.Join(cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "auth.json")
	return family.Origin{Credentials: path, Profile: path, Owner: func() (oauth.Owner, error) { return oauth.Owner{}, nil }}, nil
}
