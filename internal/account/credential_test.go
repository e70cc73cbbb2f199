package account

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/secret"
)

// TOK-7e, ACC-4: why a file is skipped; what it says never quotes the file.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":       "the file is empty",
		" \r\n ": "the file is empty",
		`{"claudeAiOauth":{"accessToken":"s3cret"`:      "the file is no valid JSON (truncated?)",
		`{"claudeAiOauth":{"accessToken":"s3cret"}} {}`: "the file is no valid JSON (truncated?)",
		`["s3cret"]`:                 "the file holds no JSON object",
		`null`:                       "the file holds no JSON object",
		`{}`:                         "the file has no claudeAiOauth login",
		`{"claudeAiOauth":null}`:     "the file has no claudeAiOauth login",
		`{"claudeAiOauth":"s3cret"}`: "the file has no claudeAiOauth login",
		`{"mcpOAuth":{"x":{"accessToken":"s3cret"}}}`:                                       "the file has no claudeAiOauth login",
		`{"claudeaioauth":{"accessToken":"s3cret"}}`:                                        "the file has no claudeAiOauth login",
		`{"x":{"claudeAiOauth":{"accessToken":"s3cret"}}}`:                                  "the file has no claudeAiOauth login",
		`{"claudeAiOauth":{}}`:                                                              "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":""}}`:                                              "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":17}}`:                                              "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"refreshToken":"s3cret"}}`:                                       "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":"s3cret"},"claudeAiOauth":{}}`:                     "the claudeAiOauth login has no accessToken",
		`{"claudeAiOauth":{"accessToken":"s3c\nret"}}`:                                      "accessToken holds white space or characters that no token has (was it pasted with a line break?)",
		`{"claudeAiOauth":{"accessToken":"s3cret\u0000"}}`:                                  "accessToken holds white space or characters that no token has (was it pasted with a line break?)",
		`{"claudeAiOauth":{"accessToken":"s3crét"}}`:                                        "accessToken holds white space or characters that no token has (was it pasted with a line break?)",
		`{"claudeAiOauth":{"accessToken":"s3cret","refreshToken":"s3c ret"}}`:               "refreshToken holds white space or characters that no token has (was it pasted with a line break?)",
		`{"claudeAiOauth":` + strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000) + `}`: "the file is no valid JSON (truncated?)",
		"\xff\xfe{\x00":  "the file is UTF-16 text; save it as UTF-8",
		"\ufeff\ufeff{}": "the file is no valid JSON (truncated?)",
		"\ufeff":         "the file is empty",
	} {
		if _, err := parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}

// ACC-1, ACC-3: what is read, in whatever form it stands there.
func TestParse(t *testing.T) {
	at := time.UnixMilli(1754000000123)
	for text, want := range map[string]credential{
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1754000000123}}`:           {access: secret.New("a"), refresh: secret.New("r"), expires: at},
		`{"claudeAiOauth":{"accessToken":" a\n","refreshToken":"\tr ","expiresAt":1754000000123.0}}`:   {access: secret.New("a"), refresh: secret.New("r"), expires: at},
		`{"claudeAiOauth":{"accessToken":"\u0061","expiresAt":1.754000000123e12}}`:                     {access: secret.New("a"), refresh: secret.String{}, expires: at},
		`{"claude\u0041iOauth":{"acc\u0065ssToken":"a","expiresAt":"1754000000123"}}`:                  {access: secret.New("a")},
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":null,"expiresAt":-1}}`:                     {access: secret.New("a")},
		`{"claudeAiOauth":{"accessToken":"a","expiresAt":1e308}}`:                                      {access: secret.New("a"), expires: time.UnixMilli(1 << 52)},
		`{"claudeAiOauth":{"accessToken":"old","accessToken":"a"}}`:                                    {access: secret.New("a")},
		"\ufeff" + `{"claudeAiOauth":{"accessToken":"a","refreshToken":"r"}}`:                          {access: secret.New("a"), refresh: secret.New("r")}, // TOK-7f
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","shuntCredentialKind":"setup_token"}}`: {access: secret.New("a"), refresh: secret.New("r"), setup: true},
	} {
		d, err := parse([]byte(text))
		if err != nil || d.credential != want {
			t.Errorf("%s: %+v, %v", text, d.credential, err)
		}
	}
	d, err := parse([]byte(`{"shuntAccountUuid":" u ","claudeAiOauth":{"accessToken":"a"},"shuntOrganizationUuid":"o"}`))
	if err != nil || d.uuid != "u" || d.organization != "o" {
		t.Errorf("owner %q of %q, %v", d.uuid, d.organization, err)
	}
}

// ACC-1: a rewrite changes the bytes of three values, and adds what is missing in the file's own style.
func TestWith(t *testing.T) {
	c := credential{access: secret.New(`A<&>"\`), refresh: secret.New("R"), expires: time.UnixMilli(1754000000123)}
	for before, after := range map[string]string{
		"{\n\t\"big\": 12345678901234567890.10, \"claudeAiOauth\" : {\"x\":1e2,\"expiresAt\" : 1.0,\r\n \"accessToken\":\"a\",\"é\\u00e9\":\"\\/\", \"refreshToken\" :\"r\" } ,\"y\":[ ]}\n\n": "{\n\t\"big\": 12345678901234567890.10, \"claudeAiOauth\" : {\"x\":1e2,\"expiresAt\" : 1754000000123,\r\n \"accessToken\":\"A<&>\\\"\\\\\",\"é\\u00e9\":\"\\/\", \"refreshToken\" :\"R\" } ,\"y\":[ ]}\n\n",
		"{\n  \"claudeAiOauth\": {\n    \"accessToken\": \"a\"\n  }\n}\n":                                         "{\n  \"claudeAiOauth\": {\n    \"accessToken\": \"A<&>\\\"\\\\\",\n    \"refreshToken\": \"R\",\n    \"expiresAt\": 1754000000123\n  }\n}\n",
		`{"claudeAiOauth":{"x":{"accessToken":"x"},"accessToken":"a","expiresAt":null},"z":{"refreshToken":"z"}}`: `{"claudeAiOauth":{"x":{"accessToken":"x"},"accessToken":"A<&>\"\\","refreshToken":"R","expiresAt":1754000000123},"z":{"refreshToken":"z"}}`,
		`{"claudeAiOauth":{"accessToken":"1"},"claudeAiOauth":{"accessToken":"2","accessToken":"3"}}`:             `{"claudeAiOauth":{"accessToken":"1"},"claudeAiOauth":{"accessToken":"2","accessToken":"A<&>\"\\","refreshToken":"R","expiresAt":1754000000123}}`,
	} {
		d, err := parse([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(after, string(d.with(c))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", before, diff)
		}
		if string(d.text) != before {
			t.Error("the document that was read has changed")
		}
	}
}

// What has not changed keeps its bytes, however it is written.
func TestWithKeepsEqualValues(t *testing.T) {
	text := `{"claudeAiOauth":{"accessToken":" \u0061","refreshToken":"\u0072","expiresAt":1.754e12}}`
	d, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.with(d.credential)); got != text {
		t.Errorf("got %s", got)
	}
}

// TOK-2, TOK-7c: a step of the wall clock does not age a token that this process obtained, nor make it young.
func TestExpiryIsMonotonic(t *testing.T) {
	expires := time.Now().Add(time.Hour)
	s := &source{keeper: &Keeper{successors: newSuccessors()}, problem: errNotRead}
	c := credential{access: secret.New("a"), refresh: secret.New("r"), expires: expires}
	s.adopt(c)
	c.expires = time.UnixMilli(expires.UnixMilli()) // as the file tells it
	s.learn(document{credential: c}, "v", nil)
	if s.current.expires != expires {
		t.Errorf("reading the file back made %v of %v", s.current.expires, expires)
	}
	c.expires = c.expires.Add(time.Minute)
	s.learn(document{credential: c}, "v2", nil)
	if !s.current.expires.Equal(c.expires) {
		t.Error("the file's own time does not count")
	}
}

// FuzzCredentials compares with encoding/json: a rewrite changes what shunt owns and nothing else, and can be read.
func FuzzCredentials(f *testing.F) {
	for _, seed := range []string{
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1754000000123,"scopes":["x"]},"m":{"n":1.50}}`,
		"{\n \"a\" : [1, 2] ,\n\"claudeAiOauth\"\t: { \"accessToken\" : \"a\" , \"x\" : {} } }",
		`{"claudeAiOauth":{"accessToken":"a","accessToken":"b"},"claudeAiOauth":{"expiresAt":-0,"accessToken":"c"}}`,
		`{"":"","claudeAiOauth":{"\"":"","accessToken":"\u0061"}}`, `{}`, `[`, ``,
		"\ufeff{\"claudeAiOauth\":{\"accessToken\":\"a\"}}", "\xff\xfe{\x00",
	} {
		f.Add([]byte(seed))
	}
	c := credential{access: secret.New("new"), refresh: secret.New("newer"), expires: time.UnixMilli(1754000000999)}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parse(text)
		if err != nil {
			return
		}
		rewritten := d.with(c)
		again, err := parse(rewritten)
		if err != nil || again.credential != (credential{access: c.access, refresh: c.refresh, expires: c.expires, setup: d.setup}) || again.uuid != d.uuid {
			t.Fatalf("%q became %q: %+v, %v", text, rewritten, again, err)
		}
		if back := again.with(c); !bytes.Equal(back, rewritten) {
			t.Errorf("rewriting again changed %q to %q", rewritten, back)
		}
		if diff := cmp.Diff(foreign(t, text), foreign(t, rewritten)); diff != "" {
			t.Errorf("%q became %q:\n%s", text, rewritten, diff)
		}
	})
}

// foreign is the document without what shunt owns in it.
func foreign(t *testing.T, text []byte) map[string]json.RawMessage {
	t.Helper()
	var top, login map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &top); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(top["claudeAiOauth"], &login); err != nil {
		t.Fatal(err)
	}
	delete(top, "claudeAiOauth")
	for name, value := range login {
		if name != "accessToken" && name != "refreshToken" && name != "expiresAt" {
			top["login "+name] = value
		}
	}
	return top
}
