package chatgpt

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shunt/internal/quota"
)

// places are the two places in which the provider reports a window, as headers have them.
var places = [...]headers{headersOf("Primary"), headersOf("Secondary")}

type headers struct{ used, minutes, resetAt, resetAfter string }

func headersOf(place string) headers {
	prefix := "X-Codex-" + place
	return headers{prefix + "-Used-Percent", prefix + "-Window-Minutes", prefix + "-Reset-At", prefix + "-Reset-After-Seconds"}
}

// readQuota reads the quota headers of a response (GPT-6). A header that is absent or malformed is absent from the signal
// (QUO-2), unless it is the length, without which nobody knows which window the others are about.
func readQuota(h http.Header) (s quota.Signal) {
	for _, names := range places {
		minutes, _ := number(first(h, names.minutes))
		used, hasUsed := number(first(h, names.used))
		at, _ := number(first(h, names.resetAt))
		after, _ := number(first(h, names.resetAfter))
		add(&s, minutes, window{used, hasUsed, at, after})
	}
	return s
}

func first(h http.Header, name string) string {
	if lines := h[name]; len(lines) > 0 {
		return strings.TrimSpace(lines[0])
	}
	return ""
}

// number parses a finite decimal number of at least 0.
func number(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 {
		return 0, false
	}
	return v, true
}

// window is what the provider reports about a window.
type window struct {
	percent    float64
	hasPercent bool
	resetAt    float64 // Unix seconds; 0: absent
	resetAfter float64 // seconds; 0: absent
}

// Later times and longer durations are cut to these, so that no arithmetic on times overflows.
const (
	lastReset    = 253402300799 // the end of the year 9999
	longestReset = 366 * 24 * 3600
)

func (w window) reset() (at time.Time, in time.Duration) {
	if w.resetAt >= 1 {
		at = time.Unix(int64(min(w.resetAt, lastReset)), 0)
	}
	return at, time.Duration(min(w.resetAfter, longestReset) * float64(time.Second))
}

// add adds what the provider reports about the window of a length in minutes, if there is such a window. Of two reports about
// one window, the one with the higher utilization counts.
func add(s *quota.Signal, minutes float64, w window) {
	i, ok := windowOf(minutes)
	if !ok {
		return
	}
	known := &s.Windows[i]
	if known.HasUtilization && (!w.hasPercent || w.percent/100 <= known.Utilization) {
		return
	}
	at, in := w.reset()
	*known = quota.WindowSignal{Utilization: w.percent / 100, HasUtilization: w.hasPercent, Reset: at, ResetIn: in}
}

// quotaEvent is the type of the event about quota. Others of its limits, such as those of reviews, have a name.
const (
	quotaEvent = "codex.rate_limits"
	mainLimit  = "codex"
)

// readQuotaEvent reads the data of a stream's event (GPT-6).
func readQuotaEvent(data []byte) (s quota.Signal, ok bool) {
	if !bytes.Contains(data, []byte(quotaEvent)) {
		return s, false
	}
	var event struct {
		Type   string            `json:"type"`
		Limit  string            `json:"metered_limit_name"`
		Limits map[string]member `json:"rate_limits"`
	}
	_ = json.Unmarshal(data, &event) // the members that are as expected
	if event.Type != quotaEvent || event.Limit != "" && event.Limit != mainLimit {
		return s, false
	}
	for _, place := range [...]string{"primary", "secondary"} {
		limit := event.Limits[place].members()
		add(&s, limit.number("window_minutes"), limit.window())
	}
	return s, true
}

// member is the value of a member of a JSON object, of whatever type.
type member json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (m *member) UnmarshalJSON(text []byte) error { return (*json.RawMessage)(m).UnmarshalJSON(text) }

func (m member) members() (of members) {
	_ = json.Unmarshal(m, &of)
	return of
}

// members are those of a JSON object, by their exact names; nil for anything else.
type members map[string]member

// number returns a member that is a number of at least 0, or 0.
func (m members) number(name string) float64 {
	v, _ := number(string(m[name]))
	return v
}

func (m members) window() window {
	percent, ok := number(string(m["used_percent"]))
	return window{percent, ok, m.number("reset_at"), m.number("reset_after_seconds")}
}
