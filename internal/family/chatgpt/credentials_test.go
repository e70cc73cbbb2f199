package chatgpt

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/oauth"
	"shunt/internal/secret"
)

// token returns a JWT with a payload.
func token(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".x"
}

const auth = `"https://api.openai.com/auth":{"chatgpt_account_id":"acc-1","chatgpt_user_id":"user-1"}`

// GPT-1, GPT-2, GPT-4: what a file says, and what its tokens say.
func TestParse(t *testing.T) {
	access := token(`{"exp":1800000000,` + auth + `}`)
	for _, c := range []struct {
		text    string
		owner   oauth.Owner
		expires int64
		problem string
	}{
		{`{"auth_mode":"ChatGPT","tokens":{"access_token":"` + access + `","refresh_token":"r"}}`, oauth.Owner{Account: "acc-1", User: "user-1"}, 1800000000, ""},
		{`{"tokens":{"access_token":"a","account_id":"acc-2","id_token":"` + access + `"}}`, oauth.Owner{Account: "acc-2", User: "user-1"}, 0, ""},
		{`{"tokens":{"access_token":"` + token(`{"exp":"soon"}`) + `","account_id":"acc-2"}}`, oauth.Owner{Account: "acc-2"}, 0, ""},
		{`{"auth_mode":"CHATGPT","OPENAI_API_KEY":"sk-1","tokens":{"access_token":"` + access + `"}}`, oauth.Owner{Account: "acc-1", User: "user-1"}, 1800000000, ""},
		{`{"tokens":{"access_token":"` + token(`{"exp":1800000000.5,"https://api.openai.com/auth":{"chatgpt_account_id":7,"chatgpt_user_id":"u"}}`) + `","account_id":" acc-3 "}}`, oauth.Owner{Account: "acc-3", User: "u"}, 1800000000, ""},
		{`{"OPENAI_API_KEY":"sk-1","tokens":null}`, oauth.Owner{}, 0, "API key"},
		{`{"auth_mode":"apikey","OPENAI_API_KEY":"sk-1"}`, oauth.Owner{}, 0, "API key"},
		{`{"auth_mode":"ApiKey","OPENAI_API_KEY":"sk-1","tokens":{"access_token":"` + access + `"}}`, oauth.Owner{}, 0, "API key"},
		{`{"auth_mode":"API_KEY"}`, oauth.Owner{}, 0, "API key"},
		{`{"auth_mode":"chatgpt"}`, oauth.Owner{}, 0, "keyring"},
		{`{"tokens":{"access_token":"a","account_id":"x\r\ny"}}`, oauth.Owner{}, 0, "account_id contains"},
		{`{"tokens":{"access_token":"a","id_token":"i j","account_id":"x"}}`, oauth.Owner{}, 0, "id_token contains"},
		{`{"OPENAI_API_KEY":null}`, oauth.Owner{}, 0, "keyring"},
		{`{"tokens":{"refresh_token":"r"}}`, oauth.Owner{}, 0, "keyring"},
		{`{"tokens":{"access_token":"a"}}`, oauth.Owner{}, 0, "log in again"},
		{`{"tokens":{"access_token":"a b","account_id":"x"}}`, oauth.Owner{}, 0, "access_token contains"},
	} {
		file, err := credentials.Parse([]byte(c.text))
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "sk-1") {
				t.Errorf("%s: %v", c.text, err)
			}
		case err != nil || file.Owner != c.owner || c.expires == 0 != file.Expires.IsZero() || c.expires != 0 && file.Expires != time.Unix(c.expires, 0) || file.UntilRejected != file.Expires.IsZero():
			t.Errorf("%s: %+v, %v", c.text, file, err)
		}
	}
}

// GPT-1, GPT-3: a refresh replaces the tokens, and records the account and the time. Every other byte stays.
func TestRewrite(t *testing.T) {
	at := time.Date(2027, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600))
	renewed := oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s"), ID: secret.New("j"), Refreshed: at}
	for _, c := range []struct {
		text, after string
		c           oauth.Credential
	}{
		{
			`{ "x": 1.50, "tokens": {"access_token": "a", "login_owner_id": 7, "account_id": "acc"}, "last_refresh": null }`,
			`{ "x": 1.50, "tokens": {"access_token": "b","refresh_token": "s","id_token": "j", "login_owner_id": 7, "account_id": "acc"}, "last_refresh": "2027-01-02T02:04:05.000000678Z" }`,
			renewed,
		},
		{
			`{"last_refresh":"2026-01-01T00:00:00Z","auth_mode":"ChatGPT","tokens":{"id_token":"i","access_token":"a","refresh_token":"r","account_id":"acc","oauth_provenance":{"y":[ ]}}}`,
			`{"last_refresh":"2027-01-02T02:04:05.000000678Z","auth_mode":"ChatGPT","tokens":{"id_token":"j","access_token":"b","refresh_token":"s","account_id":"acc","oauth_provenance":{"y":[ ]}}}`,
			renewed,
		},
		{
			`{"tokens":{"access_token":"` + token(`{`+auth+`}`) + `","refresh_token":"r"}}`,
			`{"tokens":{"access_token":"b","account_id":"acc-1","refresh_token":"s"},"last_refresh":"2027-01-02T02:04:05.000000678Z"}`,
			oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s"), Refreshed: at},
		},
		{
			`{"tokens":{"access_token":"` + token(`{`+auth+`}`) + `"}}`,
			`{"tokens":{"access_token":"` + token(`{`+auth+`}`) + `"}}`,
			oauth.Credential{Access: secret.New(token(`{` + auth + `}`))},
		},
	} {
		file, err := credentials.Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(credentials.Rewrite(file, c.c)); got != c.after || string(file.Text) != c.text {
			t.Errorf("%s became\n%s, want\n%s", c.text, got, c.after)
		}
	}
}

// GPT-1: a new login has the members that Codex writes, and an imported one can be assigned to an account.
func TestNew(t *testing.T) {
	access := token(`{"exp":1800000000,` + auth + `}`)
	c := oauth.Credential{
		Access: secret.New(access), Refresh: secret.New("r"), ID: secret.New("i"),
		Expires: time.Unix(1_800_000_000, 0), Refreshed: time.Unix(1_799_000_000, 0).UTC(),
	}
	text := credentials.New(c, oauth.Owner{})
	want := `{
  "auth_mode": "chatgpt",
  "OPENAI_API_KEY": null,
  "tokens": {
    "id_token": "i",
    "access_token": "` + access + `",
    "refresh_token": "r",
    "account_id": "acc-1"
  },
  "last_refresh": "2027-01-03T18:13:20Z"
}
`
	file, err := credentials.Parse(text)
	if string(text) != want || err != nil || file.Credential != c || file.Owner != (oauth.Owner{Account: "acc-1", User: "user-1"}) {
		t.Errorf("%s: %+v, %v", text, file, err)
	}
	moved, err := credentials.Parse(credentials.Assign(file, oauth.Owner{Account: "other"}))
	if err != nil || moved.Account != "other" {
		t.Errorf("%+v, %v", moved, err)
	}
	if got := credentials.Assign(file, oauth.Owner{}); string(got) != want {
		t.Errorf("assigned to nobody: %s", got)
	}
	least, err := credentials.Parse(credentials.New(oauth.Credential{Access: secret.New("a")}, oauth.Owner{Account: "acc"}))
	if err != nil || least.Account != "acc" || !least.UntilRejected || !least.Refreshed.IsZero() {
		t.Errorf("%+v, %v", least, err)
	}
}

// FuzzAuthFile compares with encoding/json: a rewrite can be read, and changes no member but its own (GPT-1).
func FuzzAuthFile(f *testing.F) {
	f.Add(`{"auth_mode":"chatgpt","tokens":{"access_token":"` + token(`{"exp":1,`+auth+`}`) + `","x":1.50},"last_refresh":"2027-01-03T20:53:20Z"}`)
	f.Add(`{"tokens":{"access_token":"a","account_id":"b","account_id":"c"},"tokens":{"access_token":"d","account_id":"e"},"y":{}}`)
	f.Add(`{"OPENAI_API_KEY":"k","tokens":[]}`)
	c := oauth.Credential{Access: secret.New("new"), Refresh: secret.New("newer"), ID: secret.New("id"), Refreshed: time.Unix(1_800_000_000, 0).UTC(), UntilRejected: true}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &before) != nil || before == nil {
			return
		}
		file, err := credentials.Parse([]byte(text))
		if err != nil {
			return
		}
		rewritten := credentials.Rewrite(file, c)
		again, err := credentials.Parse(rewritten)
		if err != nil || again.Credential != c || again.Account != file.Account {
			t.Fatalf("%q became %q: %+v, %v", text, rewritten, again, err)
		}
		if err := json.Unmarshal(rewritten, &after); err != nil {
			t.Fatal(err)
		}
		inside, insideAfter := membersOf(before[tokensMember]), membersOf(after[tokensMember])
		for _, own := range []string{accessMember, refreshMember, idMember, accountMember} {
			delete(inside, own)
			delete(insideAfter, own)
		}
		for _, own := range []string{tokensMember, refreshedMember} {
			delete(before, own)
			delete(after, own)
		}
		if diff := cmp.Diff(before, after) + cmp.Diff(inside, insideAfter); diff != "" {
			t.Fatalf("%q became %q:\n%s", text, rewritten, diff)
		}
	})
}

// GPT-2: the claims of anything are read without a panic.
func FuzzClaims(f *testing.F) {
	f.Add(token(`{"exp":1e300,` + auth + `}`))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, text string) {
		c := claimsOf(text)
		if at := c.expires; !at.IsZero() && at.Unix() > latest {
			t.Error(at)
		}
	})
}

// 8-families: the store has the name of the provider's program.
func TestStoreName(t *testing.T) {
	if Family.Name != "chatgpt" || Family.StoreName() != "codex" {
		t.Errorf("%s, %s", Family.Name, Family.StoreName())
	}
	other := Family
	if other.Store = ""; other.StoreName() != "chatgpt" {
		t.Errorf("without a name of its own: %s", other.StoreName())
	}
}
