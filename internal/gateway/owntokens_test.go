package gateway

import (
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/internal/secret"
)

// WIRE-2: however a token is wrapped, it is found; a value that does not have it in it stays.
func TestOwnTokensAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.StringMatching(`[!-+.-~]{1,40}`).Draw(t, "token")
		other := rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "other")
		own := ownTokens{secret.New("never-there-never-there"), secret.New(token)}
		encodings := []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}
		encode := rapid.SampledFrom(encodings).Draw(t, "encoding").EncodeToString
		for _, value := range []string{
			token, "Bearer " + token, "name:" + token, `"` + token + `"`, other + "," + token + ", x", "Basic " + encode([]byte("me:"+token)),
			"bASIC\t" + encode([]byte(token+":"+other)), other + " Basic " + encode([]byte(token)),
		} {
			if !own.in(value) {
				t.Errorf("%q is not found in %q", token, value)
			}
		}
		if !strings.Contains(other, token) && !strings.Contains(strings.ToLower(other), "basic") && own.in(other) {
			t.Errorf("%q is found in %q", token, other)
		}
	})
}
