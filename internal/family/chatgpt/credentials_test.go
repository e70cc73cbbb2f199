package chatgpt

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

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
		{`{"OPENAI_API_KEY":"sk-1","tokens":null}`, oauth.Owner{}, 0, "API key"},
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
		case err != nil || file.Owner != c.owner || c.expires == 0 != file.Expires.IsZero() || c.expires != 0 && file.Expires != time.Unix(c.expires, 0):
			t.Errorf("%s: %+v, %v", c.text, file, err)
		}
	}
}

// GPT-1: members that shunt does not know survive a rewrite byte for byte.
func TestRewrite(t *testing.T) {
	text := `{ "x": 1.50, "tokens": {"access_token": "a", "login_owner_id": 7, "account_id": "acc"}, "last_refresh": null }`
	file, err := credentials.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{ "x": 1.50, "tokens": {"access_token": "b","refresh_token": "s", "login_owner_id": 7, "account_id": "acc"}, "last_refresh": null }`
	got := string(credentials.Rewrite(file, oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s")}))
	if got != want {
		t.Errorf("%s", got)
	}
	made, err := credentials.Parse(credentials.New(oauth.Credential{Access: secret.New("a"), Refresh: secret.New("r")}, oauth.Owner{Account: "acc"}))
	if err != nil || made.Account != "acc" || made.Refresh.Reveal() != "r" {
		t.Errorf("%+v, %v", made, err)
	}
	moved, err := credentials.Parse(credentials.Assign(file, oauth.Owner{Account: "other"}))
	if err != nil || moved.Account != "other" {
		t.Errorf("%+v, %v", moved, err)
	}
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
