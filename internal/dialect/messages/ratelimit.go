package messages

import (
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// Window is one of the quota windows that the provider reports.
type Window int

// The windows, under the names 5h, 7d and 7d_oi in headers.
const (
	FiveHour Window = iota
	SevenDay
	Fable
)

// Windows is how many there are.
const Windows = 3

// RateLimit is what the quota headers of one response say (QUO-1). The zero value says nothing.
type RateLimit struct {
	Windows [Windows]WindowLimit
	Status  string // of the account as a whole; "" = absent
	Reset   int64  // likewise, in Unix seconds, at most the end of the year 9999; 0 = absent
}

// WindowLimit is one window's part. Each field stands alone (QUO-2).
type WindowLimit struct {
	Utilization    float64 // fraction, finite, at least 0; may exceed 1
	HasUtilization bool
	Reset          int64  // Unix seconds, at most the end of the year 9999; 0 = absent
	Status         string // "" = absent
}

// lastReset is the end of the year 9999: further resets are cut to it, so that no arithmetic on times overflows.
const lastReset = 253402300799

const (
	statusHeader = "Anthropic-Ratelimit-Unified-Status"
	resetHeader  = "Anthropic-Ratelimit-Unified-Reset"
)

type windowHeaders struct{ utilization, reset, status string }

var headersOf = [Windows]windowHeaders{
	FiveHour: headersNamed("5h"),
	SevenDay: headersNamed("7d"),
	Fable:    headersNamed("7d_oi"),
}

func headersNamed(window string) windowHeaders {
	prefix := textproto.CanonicalMIMEHeaderKey("anthropic-ratelimit-unified-"+window) + "-"
	return windowHeaders{prefix + "Utilization", prefix + "Reset", prefix + "Status"}
}

// ParseRateLimit reads the quota headers. A field that is absent or malformed stays absent (QUO-2).
func ParseRateLimit(h http.Header) RateLimit {
	r := RateLimit{Status: field(h, statusHeader), Reset: seconds(field(h, resetHeader))}
	for w, names := range headersOf {
		limit := &r.Windows[w]
		limit.Utilization, limit.HasUtilization = nonNegative(field(h, names.utilization))
		limit.Reset = seconds(field(h, names.reset))
		limit.Status = field(h, names.status)
	}
	return r
}

// WriteTo sets the headers of the fields that are present.
func (r RateLimit) WriteTo(h http.Header) {
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	setReset := func(name string, reset int64) {
		if reset != 0 {
			h.Set(name, strconv.FormatInt(reset, 10))
		}
	}
	set(statusHeader, r.Status)
	setReset(resetHeader, r.Reset)
	for w, names := range headersOf {
		limit := r.Windows[w]
		if limit.HasUtilization {
			h.Set(names.utilization, strconv.FormatFloat(limit.Utilization, 'f', -1, 64))
		}
		setReset(names.reset, limit.Reset)
		set(names.status, limit.Status)
	}
}

// field is the first line of a header, whose name is in its canonical form.
func field(h http.Header, name string) string {
	lines := h[name]
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[0])
}

// seconds reads a time in Unix seconds; 0 if it is absent or malformed.
func seconds(s string) int64 {
	v, _ := nonNegative(s)
	return int64(min(v, lastReset))
}

// nonNegative reads a finite decimal number of at least 0; a negative zero is 0.
func nonNegative(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 {
		return 0, false
	}
	return v + 0, true
}
