package chatgpt

import (
	"net/http"
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/dialect/responses"
	"shunt/internal/family"
	"shunt/internal/quota"
	"shunt/internal/wire"
)

const (
	defaultCooldown = 60 * time.Second   // of a rejection that does not say how long it lasts
	longestCooldown = 8 * 24 * time.Hour // whatever a rejection says
	longestDelay    = time.Hour          // that a retry-after may demand
	longestThrottle = 300 * time.Second
)

// refine returns what a response or the failure of a stream means, where the provider has codes for it (GPT-7, FAM-7).
func refine(r *family.Response) (family.Verdict, bool) {
	if r.Failure != nil {
		return refineFailure(r, r.Failure)
	}
	switch r.Status {
	case http.StatusUnauthorized: // its type of error says nothing
		return family.Verdict{Class: family.Unauthorized}, true
	case http.StatusBadRequest:
		if failure := parse(r); failure.Code == "invalid_encrypted_content" {
			return family.Verdict{Class: family.ForeignReasoning}, true
		}
	case http.StatusServiceUnavailable:
		if isOverload(parse(r)) {
			return family.Verdict{Class: family.Overloaded}, true
		}
	case http.StatusTooManyRequests:
		failure := parse(r)
		switch {
		case isQuota(failure.Code):
			return refineFailure(r, failure)
		case isOverload(failure):
			return family.Verdict{Class: family.Overloaded}, true
		case windowsThat(isNearlyFull, &r.Quota) != 0:
			return rejected(r, failure), true
		}
	}
	return family.Verdict{}, false
}

func parse(r *family.Response) *dialect.Error {
	failure, _ := responses.Dialect{}.ParseError(r.Text())
	return &failure
}

func isQuota(code string) bool {
	return code == "usage_limit_reached" || code == "insufficient_quota" || code == "usage_not_included"
}

func isOverload(e *dialect.Error) bool {
	return e.Code == "server_is_overloaded" || e.Code == "slow_down" ||
		strings.Contains(strings.ToLower(e.Message), "selected model is at capacity")
}

// refineFailure returns what an error with a code means, wherever it is.
func refineFailure(r *family.Response, e *dialect.Error) (family.Verdict, bool) {
	switch {
	case e.Code == "usage_not_included":
		return family.Verdict{Class: family.NotIncluded, Details: family.Details{Reason: "this plan has no Codex"}}, true
	case isQuota(e.Code):
		return rejected(r, e), true
	case isOverload(e):
		return family.Verdict{Class: family.Overloaded}, true
	case e.Code == "rate_limit_exceeded":
		v := family.Verdict{Class: family.StreamThrottled}
		if wait := delay(r, e); wait > 0 {
			v.Cooldown = min(max(wait, time.Second), longestThrottle)
		}
		return v, true
	case e.Code == "server_error":
		return family.Verdict{Class: family.ServerError}, true
	}
	return family.Verdict{}, false
}

// rejected returns the verdict of a rejection by quota.
func rejected(r *family.Response, e *dialect.Error) family.Verdict {
	full := windowsThat(isFull, &r.Quota)
	cooldown := delay(r, e)
	if cooldown <= 0 {
		if after, ok := wire.RetryAfter(r.Header, r.Now); ok {
			cooldown = min(max(after, time.Second), longestDelay)
		}
	}
	if cooldown <= 0 {
		for i := range r.Quota.Windows {
			if reset := r.Quota.Windows[i].ResetAt(r.Now); full.Has(i) && !reset.IsZero() {
				cooldown = max(cooldown, reset.Sub(r.Now))
			}
		}
	}
	if cooldown <= 0 {
		cooldown = defaultCooldown
	}
	if full == 0 {
		full = windowsThat(isNearlyFull, &r.Quota)
	}
	return family.Verdict{Class: family.Rejected, Details: family.Details{Cooldown: min(cooldown, longestCooldown), Windows: full}}
}

// delay returns how long an error says that it lasts; 0: it does not say.
func delay(r *family.Response, e *dialect.Error) time.Duration {
	if wait := e.Resets.Sub(r.Now); wait > 0 {
		return wait
	}
	return e.RetryAfter
}

func isFull(utilization float64) bool { return utilization >= 1 }

// isNearlyFull reports whether a 429 from an account with such a window is about quota.
func isNearlyFull(utilization float64) bool { return utilization > 0.95 }

// windowsThat returns the windows with such a utilization.
func windowsThat(is func(utilization float64) bool, s *quota.Signal) (set quota.Set) {
	for i := range s.Windows {
		if w := &s.Windows[i]; w.HasUtilization && is(w.Utilization) {
			set |= quota.Of(i)
		}
	}
	return set
}

// refusesCredential knows the codes of a 403 about the account rather than the request (GPT-7).
func refusesCredential(e dialect.Error) bool {
	return strings.Contains(e.Code, "deactivated") || strings.Contains(e.Code, "banned") || strings.HasPrefix(e.Code, "account_")
}
