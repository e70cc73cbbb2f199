package family_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/secret"
)

var (
	flat   = family.CredentialsFile{Access: "access", Refresh: "refresh", Expires: "expires", SetupToken: "kind", Account: "account", Organization: "organization"}
	nested = family.CredentialsFile{Login: "login", Access: "access", Refresh: "refresh", Expires: "expires", Milliseconds: true, Account: "account"}
	least  = family.CredentialsFile{Access: "token"}
	bound  = family.CredentialsFile{Login: "login", Access: "access", Refresh: "refresh", Expires: "expires", DeviceID: "device"}

	formats = map[string]family.CredentialsFile{"flat": flat, "nested": nested, "least": least, "bound": bound}
)

// ACC-1: a member has a place, a type and an exact name; an expiry that is absent or not a positive number is unknown.
func TestCredentialsFileParse(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	login := func(expires time.Time) oauth.Credential {
		return oauth.Credential{Access: secret.New("a"), Refresh: secret.New("r"), Expires: expires}
	}
	for _, tt := range []struct {
		format family.CredentialsFile
		text   string
		want   oauth.Credential
		owner  oauth.Owner
	}{
		{flat, `{"access":"a","refresh":"r","expires":1800000000,"account":" u ","organization":"o"}`, login(at), oauth.Owner{Account: "u", Organization: "o"}},
		{flat, ` {"access":"old","access":" a\n","refresh":"r","expires":18e8}`, login(at), oauth.Owner{}},
		{flat, `{"access":"a","refresh":"r","expires":1800000000.25}`, login(at.Add(time.Second / 4)), oauth.Owner{}},
		{flat, `{"access":"a","refresh":"r","expires":1e300}`, login(time.UnixMilli(1 << 52)), oauth.Owner{}},
		{flat, `{"access":"a","refresh":"r"}`, login(time.Time{}), oauth.Owner{}},
		{flat, `{"access":"a","refresh":"r","expires":0}`, login(time.Time{}), oauth.Owner{}},
		{flat, `{"access":"a","refresh":"r","expires":-62135596800}`, login(time.Time{}), oauth.Owner{}},
		{flat, `{"access":"a","refresh":"r","expires":"soon","Expires":1800000000,"ACCESS":"b"}`, login(time.Time{}), oauth.Owner{}},
		{flat, `{"access":"a","refresh":"r","expires":null,"account":7}`, login(time.Time{}), oauth.Owner{}},
		{flat, `{"access":"a","kind":"setup_token"}`, oauth.Credential{Access: secret.New("a"), SetupToken: true}, oauth.Owner{}},
		{nested, `{"access":"x","login":{"access":"a","refresh":"r","expires":1800000000000,"account":"x"},"account":"u"}`, login(at), oauth.Owner{Account: "u"}},
		{bound, `{"device":" d ","login":{"access":"a","refresh":"r","device":"x"}}`, oauth.Credential{Access: secret.New("a"), Refresh: secret.New("r"), DeviceID: "d"}, oauth.Owner{}},
		{least, `{"":"x","token":"a","refresh":"r","expires":1800000000}`, oauth.Credential{Access: secret.New("a")}, oauth.Owner{}},
	} {
		file, err := tt.format.Parse([]byte(tt.text))
		if err != nil || !file.Expires.Equal(tt.want.Expires) || string(file.Text) != tt.text || file.Owner != tt.owner {
			t.Errorf("%s: %+v, %v", tt.text, file, err)
		}
		if got := file.Credential; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

// ACC-1, TOK-7e: an error says which member is wrong and never quotes the file.
func TestCredentialsFileErrors(t *testing.T) {
	const space = " contains white space or characters that are not valid in a token (was it pasted with a line break?)"
	for _, tt := range []struct {
		format     family.CredentialsFile
		text, want string
	}{
		{flat, `{}`, `the file has no member "access" with a token`},
		{flat, `{"access":""}`, `the file has no member "access" with a token`},
		{flat, `{"Access":"a"}`, `the file has no member "access" with a token`},
		{flat, `{"access":null}`, `the file has no member "access" with a token`},
		{flat, `{"access":7}`, `access is not a string`},
		{flat, `{"access":{"access":"a"}}`, `access is not a string`},
		{flat, `{"access":"a b"}`, "access" + space},
		{flat, `{"access":"a","refresh":"r\ns"}`, "refresh" + space},
		{bound, `{"login":{"access":"a"},"device":"a\r\nb"}`, "device contains white space or characters that are not valid in the ID of a device"},
		{nested, `{"access":"a"}`, "the file has no login login"},
		{nested, `{"login":["access"]}`, "the file has no login login"},
		{nested, `{"login":{"refresh":"r"}}`, "the login login has no access"},
	} {
		if file, err := tt.format.Parse([]byte(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %+v, %v, want %s", tt.text, file, err, tt.want)
		}
	}
}

// ACC-1: a rewrite changes the values that differ and leaves every other byte. It adds no member for a value that is unknown.
func TestCredentialsFileRewrite(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for _, tt := range []struct {
		format      family.CredentialsFile
		c           oauth.Credential
		text, after string
	}{
		{flat, oauth.Credential{Access: secret.New("a<&>"), Refresh: secret.New("s"), Expires: at}, `{"n": 1.50, "access": "a", "refresh": "r" }`, `{"n": 1.50, "access": "a<&>", "expires": 1800000000, "refresh": "s" }`},
		{flat, oauth.Credential{Access: secret.New("b")}, `{"access":"a", "Expires":1}`, `{"access":"b", "Expires":1}`},
		{flat, oauth.Credential{Access: secret.New("b")}, `{"access":"a","refresh":"r","expires":1800000000}`, `{"access":"b","refresh":"","expires":0}`},
		{flat, oauth.Credential{Access: secret.New("a"), Expires: at}, `{"access":"\u0061","expires":1.8e9}`, `{"access":"\u0061","expires":1.8e9}`},
		{nested, oauth.Credential{Access: secret.New("b"), Refresh: secret.New("r"), Expires: at}, `{"access":1,"login":{"access":"a"}}`, `{"access":1,"login":{"access":"b","refresh":"r","expires":1800000000000}}`},
		{bound, oauth.Credential{Access: secret.New("a"), DeviceID: "d"}, `{"login":{"access":"a"},"x":1.50}`, `{"login":{"access":"a"},"device":"d","x":1.50}`},
		{bound, oauth.Credential{Access: secret.New("b"), DeviceID: "d"}, `{"device":"d","login":{"access":"a"}}`, `{"device":"d","login":{"access":"b"}}`},
		{least, oauth.Credential{Access: secret.New("b"), Refresh: secret.New("r"), Expires: at}, `{"token":"a","":0}`, `{"token":"b","":0}`},
	} {
		file, err := tt.format.Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(tt.format.Rewrite(file, tt.c)); got != tt.after || string(file.Text) != tt.text {
			t.Errorf("%s became %s, want %s", tt.text, got, tt.after)
		}
	}
}

// LOG-5: an owner is recorded if the format has a place for it; what is unknown of it stays.
func TestCredentialsFileAssign(t *testing.T) {
	for _, tt := range []struct {
		format      family.CredentialsFile
		to          oauth.Owner
		text, after string
	}{
		{flat, oauth.Owner{Account: "u", Organization: "o"}, `{"access":"a","account":1}`, `{"access":"a","account":"u","organization":"o"}`},
		{flat, oauth.Owner{}, `{"access":"a","account":"u"}`, `{"access":"a","account":"u"}`},
		{nested, oauth.Owner{Account: "u", Organization: "o"}, `{"login":{"access":"a"}}`, `{"login":{"access":"a"},"account":"u"}`},
		{least, oauth.Owner{Account: "u", Organization: "o"}, `{"token":"a"}`, `{"token":"a"}`},
	} {
		file, err := tt.format.Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(tt.format.Assign(file, tt.to)); got != tt.after {
			t.Errorf("%s became %s, want %s", tt.text, got, tt.after)
		}
	}
}

// ACC-3: a new file has a member for each known value that has a place, and characters as they are.
func TestCredentialsFileNew(t *testing.T) {
	full := oauth.Credential{Access: secret.New("a<&>"), Refresh: secret.New("r"), Expires: time.Unix(1_800_000_000, 0)}
	setup := oauth.Credential{Access: secret.New("a"), Refresh: secret.New("r"), SetupToken: true}
	owner := oauth.Owner{Account: "u", Organization: "o"}
	for _, tt := range []struct {
		format family.CredentialsFile
		c      oauth.Credential
		owner  oauth.Owner
		want   string
	}{
		{flat, full, owner, `{"access": "a<&>","refresh": "r","expires": 1800000000,"account": "u","organization": "o"}`},
		{flat, oauth.Credential{Access: secret.New("a")}, oauth.Owner{}, `{"access": "a"}`},
		{flat, setup, oauth.Owner{}, `{"access": "a","kind": "setup_token"}`},
		{nested, full, owner, `{"login": {"access": "a<&>","refresh": "r","expires": 1800000000000},"account": "u"}`},
		{least, full, owner, `{"token": "a<&>"}`},
		{bound, oauth.Credential{Access: secret.New("a"), DeviceID: "d"}, owner, `{"login": {"access": "a"},"device": "d"}`},
	} {
		got := tt.format.New(tt.c, tt.owner)
		lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
		for i, line := range lines {
			lines[i] = strings.TrimLeft(line, " ")
		}
		if joined := strings.Join(lines, ""); joined != tt.want {
			t.Errorf("got  %s\nwant %s", joined, tt.want)
		}
	}
}

// FuzzCredentialsFile compares with encoding/json: a rewrite can be read, and changes no member but its own (ACC-1).
func FuzzCredentialsFile(f *testing.F) {
	f.Add(`{"access":"a","refresh":"r","expires":1800000000,"login":{"access":"a"},"token":"t","":{"n":1.50}}`)
	f.Add("{\n \"acc\\u0065ss\" : \"a\",\r\n\t\"login\" : { \"access\" : \"a\" , \"x\" : {} } , \"token\":\"\\/\" }\n")
	f.Add(`{"login":{"access":"a","access":"b"},"login":{"expires":-0,"access":"c"},"expires":{}}`)
	f.Add(`{"login":{"access":"a"},"device":"d","device":"e"}`)
	c := oauth.Credential{Access: secret.New("new"), Refresh: secret.New("newer"), Expires: time.Unix(1_800_000_000, 0), DeviceID: "d"}
	f.Fuzz(func(t *testing.T, text string) {
		var before map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &before) != nil || before == nil {
			return
		}
		for name, format := range formats {
			file, err := format.Parse([]byte(text))
			if err != nil {
				continue
			}
			want := c
			want.SetupToken = file.SetupToken
			if format != bound {
				want.DeviceID = ""
			}
			if format == least {
				want = oauth.Credential{Access: c.Access}
			}
			rewritten := format.Rewrite(file, c)
			again, err := format.Parse(rewritten)
			if err != nil || again.Credential != want || again.Owner != file.Owner {
				t.Fatalf("%s: %q became %q: %+v, %v", name, text, rewritten, again, err)
			}
			var after map[string]json.RawMessage
			if err := json.Unmarshal(rewritten, &after); err != nil {
				t.Fatal(err)
			}
			for _, own := range []string{format.Login, format.Access, format.Refresh, format.Expires, format.DeviceID} {
				if own != "" && (format.Login == "" || own == format.Login || own == format.DeviceID) {
					delete(before, own)
					delete(after, own)
				}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Fatalf("%s: %q became %q:\n%s", name, text, rewritten, diff)
			}
			_ = json.Unmarshal([]byte(text), &before)
		}
	})
}
