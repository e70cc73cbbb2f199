package family_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/secret"
	"shunt/internal/wire"
)

// From here to "End of the example", CONTRIBUTING.md shows the same.

// Family is the family of Acme accounts.
var Family = family.Family{
	Name:  "acme",                   // in the state file, in the log; the store is ~/.shunt/accounts/acme
	Title: "Acme",                   // for people
	Kind:  "anthropic",              // kind of its providers
	Auth:  "acme_oauth",             // auth = "acme_oauth" makes a provider a pool of such accounts
	Hosts: []string{"acme.example"}, // a token goes nowhere else

	Dialect: messages.Dialect{},
	Windows: windows,
	Quota:   family.QuotaHeaders{Utilization: "acme-quota-*-used", Reset: "acme-quota-*-reset"}.Reader(windows),

	Rules:             family.Standard.With(family.Overloaded, overloaded),
	RefusesCredential: func(e dialect.Error) bool { return e.Kind == dialect.Permission && e.Message == "account closed" },

	Vendor: oauth.Vendor{
		AuthorizeURL:   "https://acme.example/authorize",
		TokenURL:       "https://acme.example/token",
		ManualRedirect: "https://acme.example/code",
		ClientID:       "shunt",
		Scope:          "inference",
	},
	Credentials: credentials{},
}

// windows are those that Acme reports (QUO-1). Field replaces * in the names of the headers.
var windows = quota.NewTable(
	quota.Window{Name: "1h", Field: "hour", Title: "hourly window", Length: time.Hour},
	quota.Window{Name: "1d", Field: "day", Title: "daily window", Length: 24 * time.Hour},
)

// overloaded cools an account down for longer than elsewhere: Acme recovers slowly.
var overloaded = family.Rule{
	Event: pool.Overloaded, Cooldown: family.Fixed(20 * time.Second),
	Then: family.NextAccount, Fault: true, Messages: true,
}

// credentials is the format of an Acme credentials file (ACC-1).
type credentials struct{}

type fields struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
	Expires int64  `json:"expires,omitempty"` // Unix seconds
	Account string `json:"account,omitempty"`
}

// Parse implements [oauth.Format].
func (credentials) Parse(text []byte) (file oauth.File, err error) {
	var f fields
	if err := json.Unmarshal(text, &f); err != nil || f.Access == "" {
		return oauth.File{}, errors.New("the file has no access token")
	}
	file.Text, file.Account, file.Expires = text, f.Account, time.Unix(f.Expires, 0)
	if file.Access, err = oauth.ParseToken(f.Access); err != nil {
		return oauth.File{}, err
	}
	file.Refresh, err = oauth.ParseToken(f.Refresh)
	return file, err
}

// Rewrite implements [oauth.Format].
func (credentials) Rewrite(file oauth.File, c oauth.Credential) []byte {
	text := set(file.Text, "access", wire.Quote(c.Access.Reveal()))
	text = set(text, "refresh", wire.Quote(c.Refresh.Reveal()))
	return set(text, "expires", strconv.AppendInt(nil, c.Expires.Unix(), 10))
}

// Assign implements [oauth.Format].
func (credentials) Assign(file oauth.File, to oauth.Owner) []byte {
	return set(file.Text, "account", wire.Quote(to.Account))
}

// New implements [oauth.Format].
func (credentials) New(c oauth.Credential, of oauth.Owner) []byte {
	text, _ := json.Marshal(fields{c.Access.Reveal(), c.Refresh.Reveal(), c.Expires.Unix(), of.Account})
	return text
}

// set gives a member of an object another value and leaves every other byte.
func set(text []byte, member string, value []byte) []byte {
	edit := wire.SetMember(text, wire.SkipSpace(text, 0), member, value, "")
	segments, _ := wire.Splice(text, edit)
	return bytes.Join(segments, nil)
}

// End of the example.

// A family that consists of a value alone classifies responses, reads quota and rewrites a login (ACC-1).
func TestExample(t *testing.T) {
	h := http.Header{"Acme-Quota-Hour-Used": {"0.5"}, "Acme-Quota-Day-Reset": {"1800000000"}}
	if got := Family.Quota(h).Windows; got[0].Utilization != 0.5 || !got[0].HasUtilization || got[1].Reset.Unix() != 1_800_000_000 {
		t.Errorf("quota: %+v", got)
	}
	closed := Family.Dialect.(dialect.Inbound).AppendError(nil, dialect.Permission, "account closed", "")
	for status, want := range map[int]family.Class{200: family.Success, 429: family.Throttled, 403: family.CredentialRefused, 529: family.Overloaded} {
		r := family.Response{Status: status, Header: http.Header{}, Body: func() []byte { return closed }}
		if got := Family.Classify(r); got != want {
			t.Errorf("%d is classified as %v, want %v", status, got, want)
		}
	}
	if got := Family.Rules[family.Overloaded].Cooldown.For(h, time.Time{}); got != 20*time.Second {
		t.Errorf("a 529 cools down for %v", got)
	}

	file, err := Family.Credentials.Parse([]byte(`{"note": 1.50, "access": "a", "refresh": "r"}`))
	if err != nil {
		t.Fatal(err)
	}
	renewed := oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s"), Expires: time.Unix(1_800_000_000, 0)}
	const want = `{"note": 1.50, "access": "b", "refresh": "s", "expires": 1800000000}`
	if got := string(Family.Credentials.Rewrite(file, renewed)); got != want {
		t.Errorf("rewritten: %s", got)
	}
}
