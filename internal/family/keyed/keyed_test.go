package keyed

import (
	"net/http"
	"testing"
	"time"

	"shunt/internal/family"
)

// FAM-3: a provider with a key has a dialect and the rules of every family, and no accounts.
func TestFamilies(t *testing.T) {
	for _, f := range []*family.Family{&Responses, &Chat, &Gemini} {
		if !f.DefinesKind || f.Auth != "" || f.Windows != nil || f.Dialect.Name() != f.Kind {
			t.Errorf("%+v", f)
		}
	}
	f := &Responses
	body := []byte(`{"error":{"type":"rate_limit_error","code":"rate_limit_exceeded","message":"slow"}}`)
	r := family.Response{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: func() []byte { return body }}
	if verdict := f.Classify(r); verdict.Class != family.Throttled {
		t.Errorf("%+v", verdict)
	}
	if got := f.Rules[family.Throttled].Cooldown.For(r.Header, time.Time{}); got != 7*time.Second {
		t.Errorf("%v", got)
	}
}
