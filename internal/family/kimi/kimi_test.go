package kimi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/internal/family"
	"shunt/internal/family/kimi"
	"shunt/internal/oauth"
	"shunt/internal/secret"
	"shunt/internal/version"
)

// KIMI-3: what responses mean, and what they lead to.
func TestClassify(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		status   int
		body     string
		after    string
		class    family.Class
		then     family.Step
		cooldown time.Duration
	}{
		{200, ``, "", family.Success, family.Relay, 0},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"m"}}`, "", family.Unauthorized, family.RefreshFirst, 300 * time.Second},
		{401, `{"type":"error","error":{"type":"invalid_request_error","message":"m"}}`, "", family.Unauthorized, family.RefreshFirst, 300 * time.Second},
		{401, ``, "", family.Unauthorized, family.RefreshFirst, 300 * time.Second},
		{402, `{"type":"error","error":{"type":"billing_error","message":"m"}}`, "30", family.PaymentRequired, family.NextAccount, 300 * time.Second},
		{429, ``, "", family.Throttled, family.NextAccount, 60 * time.Second},
		{429, ``, "0", family.Throttled, family.NextAccount, time.Second},
		{429, ``, "90", family.Throttled, family.NextAccount, 90 * time.Second},
		{429, ``, "86400", family.Throttled, family.NextAccount, time.Hour},
		{403, `{"type":"error","error":{"type":"permission_error","message":"oauth"}}`, "", family.Relayed, family.Relay, 0},
		{400, ``, "", family.Relayed, family.Relay, 0},
		{404, ``, "", family.Relayed, family.Relay, 0},
		{500, ``, "", family.ServerError, family.NextAccount, 30 * time.Second},
		{529, ``, "", family.Overloaded, family.NextAccount, 5 * time.Second},
	} {
		h := http.Header{}
		if c.after != "" {
			h.Set("Retry-After", c.after)
		}
		got := kimi.Family.Classify(family.Response{Status: c.status, Header: h, Now: now, Body: func() []byte { return []byte(c.body) }}).Class
		rule := kimi.Family.Rules[got]
		if got != c.class || rule.Then != c.then || rule.Cooldown.For(h, now) != c.cooldown {
			t.Errorf("%d %s %q: %v, %+v", c.status, c.body, c.after, got, rule)
		}
	}
}

// 8-families: windows are used if they are reported as another provider of this dialect reports them.
func TestQuota(t *testing.T) {
	if got := kimi.Family.Quota(http.Header{}); got.Windows[kimi.FiveHour].HasUtilization || got.Status != "" {
		t.Errorf("without headers: %+v", got)
	}
	h := http.Header{}
	h.Set("anthropic-ratelimit-unified-5h-utilization", "0.25")
	h.Set("anthropic-ratelimit-unified-7d-status", "rejected")
	got := kimi.Family.Quota(h)
	if w := got.Windows[kimi.FiveHour]; w.Utilization != 0.25 || !w.HasUtilization {
		t.Errorf("five hours: %+v", w)
	}
	r := family.Response{Status: 429, Header: h, Quota: got}
	if class := kimi.Family.Classify(r).Class; class != family.Rejected {
		t.Errorf("the 429 of a window that is used up is classified as %v", class)
	}
	if got := kimi.Family.Windows.Windows(); len(got) != kimi.WindowCount {
		t.Errorf("%d windows", len(got))
	}
}

// KIMI-2: requests say what they are, and from which device if it is known.
func TestAccountHeaders(t *testing.T) {
	about := []family.HeaderField{{Name: "X-Msh-Platform", Value: "shunt"}, {Name: "X-Msh-Version", Value: version.String()}}
	for device, want := range map[string][]family.HeaderField{
		"":    about,
		"d-1": append([]family.HeaderField{{Name: "X-Msh-Device-Id", Value: "d-1"}}, about...),
	} {
		got := kimi.Family.AccountHeaders(nil, family.AccountInfo{ID: "ignored", DeviceID: device})
		if len(got) != len(want) {
			t.Fatalf("%q: %v", device, got)
		}
		for i := range got {
			if got[i] != want[i] || got[i].Name != http.CanonicalHeaderKey(got[i].Name) {
				t.Errorf("%q: %v, want %v", device, got[i], want[i])
			}
		}
	}
}

// KIMI-2: the file of a login, which a refresh changes where it must.
func TestCredentials(t *testing.T) {
	const text = `{"x":1.50,"kimiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1800000000000,"scope":"s"},"deviceId":"d"}`
	format := kimi.Family.Credentials
	file, err := format.Parse([]byte(text))
	want := oauth.Credential{Access: secret.New("a"), Refresh: secret.New("r"), Expires: time.UnixMilli(1_800_000_000_000), DeviceID: "d"}
	if err != nil || file.Credential != want {
		t.Fatalf("%+v, %v", file, err)
	}
	next := oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s"), Expires: time.UnixMilli(1_800_000_900_000), DeviceID: "d"}
	const after = `{"x":1.50,"kimiOauth":{"accessToken":"b","refreshToken":"s","expiresAt":1800000900000,"scope":"s"},"deviceId":"d"}`
	if got := string(format.Rewrite(file, next)); got != after {
		t.Error(got)
	}
	if again, err := format.Parse(format.New(next, oauth.Owner{Account: "ignored"})); err != nil || again.Credential != next || again.Owner != (oauth.Owner{}) {
		t.Errorf("%+v, %v", again, err)
	}
}

// FuzzCredentials: a file that can be read can be rewritten and read again (KIMI-2).
func FuzzCredentials(f *testing.F) {
	f.Add(`{"kimiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1},"deviceId":"d"}`)
	f.Add(`{"deviceId":7,"kimiOauth":{"accessToken":"a","expiresAt":-1}}`)
	format := kimi.Family.Credentials
	c := oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s"), Expires: time.UnixMilli(1_800_000_000_000), DeviceID: "e"}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
			return
		}
		file, err := format.Parse([]byte(text))
		if err != nil {
			return
		}
		rewritten := format.Rewrite(file, c)
		if again, err := format.Parse(rewritten); err != nil || !json.Valid(rewritten) || again.Credential != c {
			t.Errorf("%q became %q: %+v, %v", text, rewritten, again, err)
		}
	})
}
