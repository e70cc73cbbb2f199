package family_test

import (
	"net/http"
	"testing"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/quota"
	"shunt/internal/secret"
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

	Rules:             family.Standard.WithCooldown(family.Overloaded, family.Fixed(20*time.Second)), // Acme recovers slowly
	RefusesCredential: func(e dialect.Error) bool { return e.Kind == dialect.Permission && e.Message == "account closed" },

	Vendor: oauth.Vendor{
		AuthorizeURL:    "https://acme.example/authorize",
		AuthorizeURLEnv: "SHUNT_ACME_AUTHORIZE_URL", // for a stand-in on this machine
		TokenURL:        "https://acme.example/token",
		TokenURLEnv:     "SHUNT_ACME_TOKEN_URL",
		ManualRedirect:  "https://acme.example/code",
		ClientID:        "shunt",
		Scope:           "inference",
	},
	Credentials: family.CredentialsFile{Access: "access", Refresh: "refresh", Expires: "expires", Account: "account"}, // ACC-1
}

// windows are those that Acme reports (QUO-1). Field replaces * in the names of the headers.
var windows = quota.NewTable(
	quota.Window{Name: "1h", Field: "hour", Title: "hourly window", Length: time.Hour},
	quota.Window{Name: "1d", Field: "day", Title: "daily window", Length: 24 * time.Hour},
)

// End of the example.

// A family that consists of a value alone classifies responses, reads quota and rewrites a login (ACC-1).
func TestExample(t *testing.T) {
	h := http.Header{"Acme-Quota-Hour-Used": {"0.5"}, "Acme-Quota-Day-Reset": {"1800000000"}}
	if got := Family.Quota(h).Windows; got[0].Utilization != 0.5 || !got[0].HasUtilization || got[1].Reset.Unix() != 1_800_000_000 {
		t.Errorf("quota: %+v", got)
	}
	closed := Family.Dialect.(dialect.Inbound).AppendError(nil, &dialect.Error{Kind: dialect.Permission, Message: "account closed"}, "")
	for status, want := range map[int]family.Class{200: family.Success, 429: family.Throttled, 403: family.CredentialRefused, 529: family.Overloaded} {
		r := family.Response{Status: status, Header: http.Header{}, Body: func() []byte { return closed }}
		if got := Family.Classify(r).Class; got != want {
			t.Errorf("%d is classified as %v, want %v", status, got, want)
		}
	}
	if got := Family.Rules[family.Overloaded].Cooldown.For(h, time.Time{}); got != 20*time.Second {
		t.Errorf("a 529 cools down for %v", got)
	}

	file, err := Family.Credentials.Parse([]byte(`{"note": 1.50, "access": "a", "refresh": "r"}`))
	if err != nil || !file.Expires.IsZero() {
		t.Fatalf("%+v, %v", file, err)
	}
	renewed := oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s"), Expires: time.Unix(1_800_000_000, 0)}
	const want = `{"note": 1.50, "access": "b", "expires": 1800000000, "refresh": "s"}`
	if got := string(Family.Credentials.Rewrite(file, renewed)); got != want {
		t.Errorf("rewritten: %s", got)
	}
}
