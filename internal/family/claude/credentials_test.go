package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/oauth"
	"shunt/internal/secret"
)

// parse reads a file as package account does, which first checks that it is a JSON object.
func parse(text []byte) (oauth.File, error) {
	if !json.Valid(text) || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return oauth.File{}, errors.New("not a JSON object")
	}
	return credentials.Parse(text)
}

// ACC-1, ACC-3: values are read in every valid form.
func TestParse(t *testing.T) {
	at := time.UnixMilli(1754000000123)
	for text, want := range map[string]oauth.Credential{
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1754000000123}}`:           {Access: secret.New("a"), Refresh: secret.New("r"), Expires: at},
		`{"claudeAiOauth":{"accessToken":" a\n","refreshToken":"\tr ","expiresAt":1754000000123.0}}`:   {Access: secret.New("a"), Refresh: secret.New("r"), Expires: at},
		`{"claudeAiOauth":{"accessToken":"\u0061","expiresAt":1.754000000123e12}}`:                     {Access: secret.New("a"), Refresh: secret.String{}, Expires: at},
		`{"claude\u0041iOauth":{"acc\u0065ssToken":"a","expiresAt":"1754000000123"}}`:                  {Access: secret.New("a")},
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":null,"expiresAt":-1}}`:                     {Access: secret.New("a")},
		`{"claudeAiOauth":{"accessToken":"a","expiresAt":1e308}}`:                                      {Access: secret.New("a"), Expires: time.UnixMilli(1 << 52)},
		`{"claudeAiOauth":{"accessToken":"old","accessToken":"a"}}`:                                    {Access: secret.New("a")},
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","shuntCredentialKind":"setup_token"}}`: {Access: secret.New("a"), Refresh: secret.New("r"), SetupToken: true},
	} {
		d, err := parse([]byte(text))
		if err != nil || d.Credential != want {
			t.Errorf("%s: %+v, %v", text, d.Credential, err)
		}
	}
	d, err := parse([]byte(`{"shuntAccountUuid":" u ","claudeAiOauth":{"accessToken":"a"},"shuntOrganizationUuid":"o"}`))
	if err != nil || d.Account != "u" || d.Organization != "o" {
		t.Errorf("owner %q of %q, %v", d.Account, d.Organization, err)
	}
}

// ACC-1: a rewrite changes the bytes of three values, and adds missing ones in the file's own style.
func TestWith(t *testing.T) {
	c := oauth.Credential{Access: secret.New(`A<&>"\`), Refresh: secret.New("R"), Expires: time.UnixMilli(1754000000123)}
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
		if diff := cmp.Diff(after, string(credentials.Rewrite(d, c))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", before, diff)
		}
		if string(d.Text) != before {
			t.Error("the document that was read has changed")
		}
	}
}

// ACC-1: an unchanged value keeps its bytes, in whatever form.
func TestWithKeepsEqualValues(t *testing.T) {
	text := `{"claudeAiOauth":{"accessToken":" \u0061","refreshToken":"\u0072","expiresAt":1.754e12}}`
	d, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(credentials.Rewrite(d, d.Credential)); got != text {
		t.Errorf("got %s", got)
	}
}

// FuzzCredentials compares with encoding/json: a rewrite changes only what shunt owns, and can be read (ACC-1).
func FuzzCredentials(f *testing.F) {
	for _, seed := range []string{
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1754000000123,"scopes":["x"]},"m":{"n":1.50}}`,
		"{\n \"a\" : [1, 2] ,\n\"claudeAiOauth\"\t: { \"accessToken\" : \"a\" , \"x\" : {} } }",
		`{"claudeAiOauth":{"accessToken":"a","accessToken":"b"},"claudeAiOauth":{"expiresAt":-0,"accessToken":"c"}}`,
		`{"":"","claudeAiOauth":{"\"":"","accessToken":"\u0061"}}`, `{}`, `[`, ``,
	} {
		f.Add([]byte(seed))
	}
	c := oauth.Credential{Access: secret.New("new"), Refresh: secret.New("newer"), Expires: time.UnixMilli(1754000000999)}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parse(text)
		if err != nil {
			return
		}
		rewritten := credentials.Rewrite(d, c)
		again, err := parse(rewritten)
		if err != nil || again.Credential != (oauth.Credential{Access: c.Access, Refresh: c.Refresh, Expires: c.Expires, SetupToken: d.SetupToken}) || again.Account != d.Account {
			t.Fatalf("%q became %q: %+v, %v", text, rewritten, again, err)
		}
		if back := credentials.Rewrite(again, c); !bytes.Equal(back, rewritten) {
			t.Errorf("rewriting again changed %q to %q", rewritten, back)
		}
		if diff := cmp.Diff(foreign(t, text), foreign(t, rewritten)); diff != "" {
			t.Errorf("%q became %q:\n%s", text, rewritten, diff)
		}
	})
}

// foreign returns the document without what shunt owns.
func foreign(t *testing.T, text []byte) map[string]json.RawMessage {
	t.Helper()
	var top, login map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
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

// FuzzAssign compares with encoding/json: a document gets the member and does not change otherwise (LOG-5, ACC-3).
func FuzzAssign(f *testing.F) {
	for _, seed := range []string{
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r"},"m":{"n":1.50}}`,
		"{\n \"a\" : [1, 2] ,\n\"claudeAiOauth\"\t: { \"accessToken\" : \"a\" }\r\n}\n",
		`{"shuntAccountUuid":1,"claudeAiOauth":{"accessToken":"a"},"shuntAccountUuid":{"x":"y"},"":0}`,
		`{"shunt\u0041ccountUuid":"old","claudeAiOauth":{"accessToken":"a"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before, err := parse(text)
		if err != nil {
			return
		}
		with := credentials.Assign(before, oauth.Owner{Account: `u"1`})
		after, err := parse(with)
		if err != nil || after.Account != `u"1` || after.Credential != before.Credential || after.Organization != before.Organization {
			t.Fatalf("%q became %q: %+v, %v", text, with, after, err)
		}
		was, is := foreign(t, text), foreign(t, with)
		delete(was, "shuntAccountUuid")
		delete(is, "shuntAccountUuid")
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("%q became %q:\n%s", text, with, diff)
		}
	})
}
