package messages

import (
	"net/http"
	"net/textproto"
	"strconv"
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
	Reset   int64  // likewise, in Unix seconds; 0 = absent
}

// WindowLimit is one window's part. Each field stands alone (QUO-2).
type WindowLimit struct {
	Utilization    float64 // fraction, finite, at least 0; may exceed 1
	HasUtilization bool
	Reset          int64  // Unix seconds; 0 = absent
	Status         string // "" = absent
}

// StatusHeader is the name of the header with the status of the account as a whole.
const StatusHeader = "Anthropic-Ratelimit-Unified-Status"

const resetHeader = "Anthropic-Ratelimit-Unified-Reset"

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
	set(StatusHeader, r.Status)
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
