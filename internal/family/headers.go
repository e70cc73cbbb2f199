package family

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shunt/internal/quota"
)

// QuotaHeaders are the headers in which a provider reports quota. In the pattern of a header of a window, * stands for the
// window's Field. A header without a pattern or name is not read.
type QuotaHeaders struct {
	// The patterns for each window.
	Utilization string // a fraction, such as 0.25, unless Percent is set
	Reset       string // Unix seconds
	Status      string // such as "rejected" (QUO-4)

	// Percent is set if Utilization is a percentage, such as 25.
	Percent bool

	// The names for the account as a whole.
	AccountReset  string // Unix seconds
	AccountStatus string
}

// windowHeaders are the canonical names of the headers of one window.
type windowHeaders struct{ utilization, reset, status string }

// Reader returns a [Family.Quota] that reads the headers for the windows of a table (QUO-1). A field that is absent or
// malformed is absent from the signal, and the others are still read (QUO-2). It panics if the pattern for a window has no *.
func (q QuotaHeaders) Reader(windows *quota.Table) func(http.Header) quota.Signal {
	var headers []windowHeaders
	for _, w := range windows.Windows() {
		headers = append(headers, windowHeaders{
			headerOf(q.Utilization, w.Field), headerOf(q.Reset, w.Field), headerOf(q.Status, w.Field),
		})
	}
	status, reset := http.CanonicalHeaderKey(q.AccountStatus), http.CanonicalHeaderKey(q.AccountReset)
	unit := 1.0
	if q.Percent {
		unit = 100
	}
	return func(h http.Header) quota.Signal {
		s := quota.Signal{Status: first(h, status), Reset: parseReset(first(h, reset))}
		for i, names := range headers {
			w := &s.Windows[i]
			w.Utilization, w.HasUtilization = parseNumber(first(h, names.utilization))
			w.Utilization /= unit
			w.Reset = parseReset(first(h, names.reset))
			w.Status = first(h, names.status)
		}
		return s
	}
}

// headerOf returns the canonical name of a header of a window with that Field.
func headerOf(pattern, field string) string {
	if pattern != "" && !strings.Contains(pattern, "*") {
		panic(fmt.Sprintf("family: the header %s of a window has no * for the window's field", pattern))
	}
	return http.CanonicalHeaderKey(strings.ReplaceAll(pattern, "*", field))
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

// parseNumber parses a finite decimal number of at least 0.
func parseNumber(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 {
		return 0, false
	}
	return math.Abs(v), true // v may be -0
}
