package account

import (
	"strings"
	"testing"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/oauth"
	"shunt/internal/secret"
)

// TOK-7e, ACC-4: the reasons why a file is skipped; they never quote the file.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":       "the file is empty",
		" \r\n ": "the file is empty",
		`{"claudeAiOauth":{"accessToken":"s3cret"`:      "the file is not valid JSON (truncated?)",
		`{"claudeAiOauth":{"accessToken":"s3cret"}} {}`: "the file is not valid JSON (truncated?)",
		`["s3cret"]`:                 "the file does not hold a JSON object",
		`null`:                       "the file does not hold a JSON object",
		`{}`:                         "the file has no claudeAiOauth login",
		`{"claudeAiOauth":null}`:     "the file has no claudeAiOauth login",
		`{"claudeAiOauth":"s3cret"}`: "the file has no claudeAiOauth login",
		`{"mcpOAuth":{"x":{"accessToken":"s3cret"}}}`:                                       "the file has no claudeAiOauth login",
		`{"claudeaioauth":{"accessToken":"s3cret"}}`:                                        "the file has no claudeAiOauth login",
		`{"x":{"claudeAiOauth":{"accessToken":"s3cret"}}}`:                                  "the file has no claudeAiOauth login",
		`{"claudeAiOauth":{}}`:                                                              "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":""}}`:                                              "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":17}}`:                                              "accessToken is not a string",
		`{"claudeAiOauth":{"refreshToken":"s3cret"}}`:                                       "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":"s3cret"},"claudeAiOauth":{}}`:                     "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":"s3c\nret"}}`:                                      "accessToken contains white space or characters that are not valid in a token (was it pasted with a line break?)",
		`{"claudeAiOauth":{"accessToken":"s3cret\u0000"}}`:                                  "accessToken contains white space or characters that are not valid in a token (was it pasted with a line break?)",
		`{"claudeAiOauth":{"accessToken":"s3crét"}}`:                                        "accessToken contains white space or characters that are not valid in a token (was it pasted with a line break?)",
		`{"claudeAiOauth":{"accessToken":"s3cret","refreshToken":"s3c ret"}}`:               "refreshToken contains white space or characters that are not valid in a token (was it pasted with a line break?)",
		`{"claudeAiOauth":` + strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000) + `}`: "the file is not valid JSON (truncated?)",
		"\xff\xfe{\x00":  "the file is UTF-16 text; save it as UTF-8",
		"\ufeff\ufeff{}": "the file is not valid JSON (truncated?)",
		"\ufeff":         "the file is empty",
	} {
		if _, err := parse(claude.Family.Credentials, []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}

// TOK-7f: a byte-order mark is not part of the text, and a rewrite leaves it out.
func TestParseSkipsByteOrderMark(t *testing.T) {
	const text = `{"claudeAiOauth":{"accessToken":"a","refreshToken":"r"}}`
	d, err := parse(claude.Family.Credentials, []byte("\ufeff"+text))
	if err != nil || d.Access.Reveal() != "a" || d.Refresh.Reveal() != "r" {
		t.Fatalf("%+v, %v", d.credential, err)
	}
	if got := string(d.with(d.credential)); got != text {
		t.Errorf("rewritten as %q", got)
	}
}

// TOK-2, TOK-7c: a step of the wall clock does not change the age of a token that this process obtained.
func TestExpiryIsMonotonic(t *testing.T) {
	expires := time.Now().Add(time.Hour)
	s := &source{disk: newDiskTurn(), keeper: &Keeper{successors: newSuccessors()}, problem: errNotRead}
	c := credential{Credential: oauth.Credential{Access: secret.New("a"), Refresh: secret.New("r"), Expires: expires}}
	s.adopt(c)
	c.Expires = time.UnixMilli(expires.UnixMilli()) // as the file tells it
	s.update(document{credential: c}, "v", nil)
	if s.current.Expires != expires {
		t.Errorf("reading the file back made %v of %v", s.current.Expires, expires)
	}
	c.Expires = c.Expires.Add(time.Minute)
	s.update(document{credential: c}, "v2", nil)
	if !s.current.Expires.Equal(c.Expires) {
		t.Error("the file's own time does not count")
	}
}
