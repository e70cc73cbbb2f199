package gemini

import (
	"encoding/json"
	"strings"
	"time"

	"shunt/internal/dialect"
)

// kinds are what the statuses of errors mean.
var kinds = map[string]dialect.ErrorKind{
	"INVALID_ARGUMENT": dialect.InvalidRequest, "FAILED_PRECONDITION": dialect.InvalidRequest, "OUT_OF_RANGE": dialect.InvalidRequest,
	"UNAUTHENTICATED": dialect.Authentication, "PERMISSION_DENIED": dialect.Permission, "NOT_FOUND": dialect.NotFound,
	"RESOURCE_EXHAUSTED": dialect.RateLimit, "UNAVAILABLE": dialect.Overloaded, "DEADLINE_EXCEEDED": dialect.Timeout,
	"INTERNAL": dialect.ServerError, "UNKNOWN": dialect.ServerError,
}

// detail is one of the details of an error.
type detail struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"`
	Metadata   struct {
		QuotaResetDelay string `json:"quotaResetDelay"`
	} `json:"metadata"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

// ParseError implements [dialect.Outbound]: an error, or a list of one. Its details say when the upstream serves again (GEM-2).
func (Dialect) ParseError(body []byte) (dialect.Error, bool) {
	type document struct {
		Error struct {
			Message string   `json:"message"`
			Status  string   `json:"status"`
			Details []detail `json:"details"`
		} `json:"error"`
	}
	var d document
	if json.Unmarshal(body, &d) != nil {
		var list []document
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return dialect.Error{}, false
		}
		d = list[0]
	}
	if d.Error.Status == "" && d.Error.Message == "" {
		return dialect.Error{}, false
	}
	kind, known := kinds[d.Error.Status]
	if !known {
		kind = dialect.UnknownError
	}
	e := dialect.Error{Kind: kind, Code: word(d.Error.Status), Message: d.Error.Message}
	if kind == dialect.InvalidRequest && dialect.IsOverflow("", e.Message) {
		e.Kind = dialect.ContextOverflow
	}
	for i := range d.Error.Details {
		d.Error.Details[i].apply(&e)
	}
	return e, true
}

// longestDelay is the longest delay that is believed.
const longestDelay = 8 * 24 * time.Hour

// apply adds what a detail says to an error. A quota per day has no delay of its own in some errors: then it returns at midnight
// in California.
func (d *detail) apply(e *dialect.Error) {
	for _, text := range []string{d.Metadata.QuotaResetDelay, d.RetryDelay} {
		if delay, err := time.ParseDuration(text); err == nil && delay > 0 && e.RetryAfter == 0 {
			e.RetryAfter = min(delay, longestDelay)
		}
	}
	for _, v := range d.Violations {
		if strings.Contains(v.QuotaID, "PerDay") && e.Resets.IsZero() {
			e.Resets = nextMidnight(time.Now())
		}
	}
}

// nextMidnight returns the end of the provider's day, by standard time the year round.
func nextMidnight(now time.Time) time.Time {
	pacific := time.FixedZone("", -8*60*60)
	year, month, day := now.In(pacific).Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, pacific)
}

// word returns a status in the form of a code.
func word(status string) string {
	status = strings.ToLower(status)
	if len(status) > 64 || strings.Trim(status, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return status
}
