package family_test

import (
	"net/http"
	"testing"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/pool"
)

// KIMI-3: a family without code of its own gives a status another meaning, and a class another rule.
func TestStatuses(t *testing.T) {
	other := Family
	other.Statuses = map[int]family.Class{http.StatusPaymentRequired: family.PaymentRequired}
	other.Rules = family.Standard.With(family.Throttled, family.Rule{
		Event: pool.Throttled, Cooldown: family.Cooldown{Otherwise: time.Minute, Least: time.Second, Most: time.Hour}, Then: family.NextAccount, MessagesOnly: true,
	})
	if got := Family.ClassifyStatus(family.Response{Status: http.StatusPaymentRequired}); got != family.Relayed {
		t.Errorf("a 402 is classified as %v", got)
	}
	got := other.Classify(family.Response{Status: http.StatusPaymentRequired, Header: http.Header{}}).Class
	rule := other.Rules[got]
	if got != family.PaymentRequired || rule.Then != family.NextAccount || rule.Cooldown.For(nil, time.Time{}) != 300*time.Second {
		t.Errorf("a 402 is classified as %v, with %+v", got, rule)
	}
	for after, want := range map[string]time.Duration{"": time.Minute, "0": time.Second, "90": 90 * time.Second, "86400": time.Hour} {
		h := http.Header{"Retry-After": {after}}
		if got := other.Rules[family.Throttled].Cooldown.For(h, time.Time{}); got != want {
			t.Errorf("after %q, a 429 cools down for %v", after, got)
		}
	}
}

// FO-11: without a family that knows better, the kind of a stream's failure decides.
func TestClassifyEvent(t *testing.T) {
	for kind, want := range map[dialect.ErrorKind]struct {
		class  family.Class
		status int
	}{
		dialect.Overloaded: {family.Overloaded, 529}, dialect.RateLimit: {family.Throttled, 429}, dialect.ServerError: {family.ServerError, 500},
	} {
		got, status := Family.ClassifyEvent(family.Response{Status: 200, Failure: &dialect.Error{Kind: kind}})
		if got.Class != want.class || status != want.status {
			t.Errorf("%v is classified as %v, %d", kind, got, status)
		}
	}
}

// Refine decides before the body is read for anything else, but after a web page of a front proxy is told from a response.
func TestRefine(t *testing.T) {
	f := Family
	f.Refine = func(r *family.Response) (family.Verdict, bool) {
		return family.Verdict{Class: family.Overloaded, Details: family.Details{Cooldown: time.Minute}}, string(r.Text()) == "{busy}"
	}
	for body, want := range map[string]family.Class{"{busy}": family.Overloaded, "{}": family.ServerError, "<html>": family.Challenged} {
		got := f.Classify(family.Response{Status: 503, Header: http.Header{"Server": {"cloudflare"}}, Body: func() []byte { return []byte(body) }})
		if got.Class != want || (got.Cooldown == time.Minute) != (want == family.Overloaded) {
			t.Errorf("%s is classified as %+v", body, got)
		}
	}
}
