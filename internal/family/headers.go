package family

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"shunt/internal/quota"
)

// QuotaHeaders are the headers in which a provider reports quota. In the names for a window, * stands for the window's Field.
// A header without a name is not read.
type QuotaHeaders struct {
	Utilization string // of a window, a fraction
	Reset       string // of a window, Unix seconds
	Status      string // of a window, such as "rejected" (QUO-4)

	AccountReset  string // of the account as a whole
	AccountStatus string // of the account as a whole
}

// Reader returns a [Family.Quota] that reads the headers for the windows of a table (QUO-1). A field that is absent or
// malformed is absent from the signal, and the others are still read (QUO-2).
func (q QuotaHeaders) Reader(windows *quota.Table) func(http.Header) quota.Signal {
	var of []QuotaHeaders
	for _, w := range windows.Windows() {
		name := func(pattern string) string {
			return http.CanonicalHeaderKey(strings.ReplaceAll(pattern, "*", w.Field))
		}
		of = append(of, QuotaHeaders{Utilization: name(q.Utilization), Reset: name(q.Reset), Status: name(q.Status)})
	}
	status, reset := http.CanonicalHeaderKey(q.AccountStatus), http.CanonicalHeaderKey(q.AccountReset)
	return func(h http.Header) quota.Signal {
		s := quota.Signal{Status: first(h, status), Reset: parseReset(first(h, reset))}
		for i := range of {
			names, w := &of[i], &s.Windows[i]
			w.Utilization, w.HasUtilization = parseNumber(first(h, names.Utilization))
			w.Reset = parseReset(first(h, names.Reset))
			w.Status = first(h, names.Status)
		}
		return s
	}
}

// first returns the first line of a header, whose name is in its canonical form.
func first(h http.Header, name string) string {
	lines := h[name]
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[0])
}

// lastReset is the end of the year 9999 in Unix seconds. Later resets are cut to it, so that no arithmetic on times overflows.
const lastReset = 253402300799

// parseReset parses Unix seconds. It returns the zero time for 0 and for anything that is not a number.
func parseReset(s string) time.Time {
	v, _ := parseNumber(s)
	seconds := int64(min(v, lastReset))
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// parseNumber parses a finite decimal number of at least 0. A negative zero is 0.
func parseNumber(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 {
		return 0, false
	}
	return v + 0, true
}
