package account_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/family"
	"shunt/internal/family/chatgpt"
	"shunt/internal/family/claude"
	"shunt/internal/family/kimi"
)

// form is what the logins of a family look like. Tests give tokens names; see nameOf.
type form struct {
	family *family.Family
	token  func(name string, expires time.Time) string // an access token
	file   func(access, refresh string, expires, refreshed time.Time) string
}

// forms are those of all families. The first one is that of tests about one family.
var forms = []form{
	{&claude.Family, plainToken, func(access, refresh string, expires, _ time.Time) string {
		return fmt.Sprintf(`{"claudeAiOauth":{"accessToken":%q,"refreshToken":%q,"expiresAt":%d,"scopes":["a"]},"mcpOAuth":{"x":1.50}}`,
			access, refresh, expires.UnixMilli())
	}},
	{&chatgpt.Family, jwt, func(access, refresh string, _, refreshed time.Time) string {
		return fmt.Sprintf(`{"OPENAI_API_KEY": null, "tokens":{"access_token":%q,"id_token":%q,"account_id":"acc","refresh_token":%q,"scopes":["a"]},"mcpOAuth":{"x":1.50},"last_refresh":%q}`,
			access, idToken(nameOf(access)), refresh, refreshed.UTC().Format(time.RFC3339Nano))
	}},
	{&kimi.Family, plainToken, func(access, refresh string, expires, _ time.Time) string {
		return fmt.Sprintf(`{"deviceId":"device","mcpOAuth":{"x":1.50},"kimiOauth":{"accessToken":%q,"refreshToken":%q,"scopes":["a"],"expiresAt":%d}}`,
			access, refresh, expires.UnixMilli())
	}},
}

func plainToken(name string, _ time.Time) string { return name }

// jwt returns a token that says when it expires and whose it is. The person is the one of a login called "tok-oat-PERSON#1".
func jwt(name string, expires time.Time) string {
	user, numbered := "a", strings.Contains(name, "#")
	if numbered {
		user, _, _ = strings.Cut(strings.TrimPrefix(name, "tok-oat-"), "#")
	}
	if expires.Nanosecond() != 0 {
		expires = expires.Add(time.Second)
	}
	payload := fmt.Sprintf(`{"exp":%d,"jti":%q,"https://api.openai.com/auth":{"chatgpt_account_id":"acc","chatgpt_user_id":%q}}`,
		expires.Unix(), name, user)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".tok-signature"
}

// idToken returns the ID token that is issued with an access token of that name.
func idToken(name string) string { return "tok-id-" + name }

// nameOf returns the name of an access token, and any other text as it is.
func nameOf(token string) string {
	var claims struct {
		Name string `json:"jti"`
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return token
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return token
	}
	return claims.Name
}

// refreshTokenIn returns the refresh token in a request to a token endpoint, in whichever form the family sends it.
func refreshTokenIn(body []byte) (token string, err error) {
	var ask struct {
		Refresh string `json:"refresh_token"`
	}
	if strings.HasPrefix(string(body), "{") {
		err = json.Unmarshal(body, &ask)
		return ask.Refresh, err
	}
	values, err := url.ParseQuery(string(body))
	return values.Get("refresh_token"), err
}

// inEach runs a test with virtual time for each family (FAM-1).
func inEach(t *testing.T, test func(w *world)) {
	for _, f := range forms {
		t.Run(f.family.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(newWorld(t, f)) })
		})
	}
}
