package gateway

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/upstream"
)

// PoolUsage is how much of a pool's quota is used.
type PoolUsage struct {
	Name     string
	Windows  []string       // the names of its accounts' windows
	Accounts []AccountUsage // those that are not disabled
}

// AccountUsage is how much of an account's quota is used.
type AccountUsage struct {
	Identity  string // the same for entries that are one account
	Priority  int    // lower is used first
	Available bool   // the account would get requests now
	Capped    bool   // it would be available without its caps
	NearQuota bool
	Windows   map[string]WindowUsage // by name; those that the provider reports
}

// WindowUsage is how much of a quota window is used.
type WindowUsage struct {
	Utilization float64   // fraction; may be more than 1
	Reset       time.Time // zero: unknown
	Available   bool      // the account would get requests that use the window now
}

// ClientUsage is an endpoint at which a client polls the usage of its own account, as it would at its provider (USE-2, GPT-10).
type ClientUsage struct {
	Paths    []string
	Accounts func() []AccountUsage // whose usage is shown as if they were one account
	Windows  []string
	// Append appends the response's body. The header is that of the request. A window that no account reports is not in the map.
	Append func(dst []byte, h http.Header, windows map[string]WindowUsage) []byte
}

// UsageEndpoint is what GET /usage shows (USE-1).
type UsageEndpoint struct {
	Pools   func() []PoolUsage
	Windows []string // the names of the windows that are shown if there is no pool
}

// showUsage serves clients that have a token (USE-1).
func (g *Gateway) showUsage(w http.ResponseWriter, r *http.Request, s *snapshot) {
	if f := s.requireToken(r); f != nil {
		g.refuse(w, r, f)
		return
	}
	pools := g.Usage.Pools()
	var windows []string
	var accounts []AccountUsage
	each := map[string]usageSummary{}
	for _, p := range pools {
		windows = append(windows, p.Windows...)
		accounts = append(accounts, p.Accounts...)
		each[p.Name] = summarize(p.Windows, p.Accounts)
	}
	if len(pools) == 0 {
		windows = g.Usage.Windows
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, struct {
		Pool      usageSummary            `json:"pool"`
		Providers map[string]usageSummary `json:"providers"`
	}{summarize(windows, accounts), each})
}

// usageSummary is the quota that accounts have left. It does not show how many accounts there are, or which (USE-1).
type usageSummary struct {
	Status  string                   `json:"status"`
	Windows map[string]windowSummary `json:"windows"`
}

type windowSummary struct {
	Remaining *float64 `json:"remaining"` // a fraction; null: no account reports the window
	ResetsAt  *int64   `json:"resets_at"` // Unix seconds; null: unknown
}

// summarize returns the summary of accounts, with the windows of the given names.
func summarize(windows []string, accounts []AccountUsage) usageSummary {
	s := usageSummary{statusOf(accounts), map[string]windowSummary{}}
	for _, name := range windows {
		s.Windows[name] = summarizeWindow(name, accounts)
	}
	return s
}

func statusOf(accounts []AccountUsage) string {
	some := func(is func(AccountUsage) bool) bool { return slices.ContainsFunc(accounts, is) }
	available := some(func(a AccountUsage) bool { return a.Available })
	switch {
	case !available && some(func(a AccountUsage) bool { return a.Capped }):
		return "capped"
	case !available:
		return "exhausted"
	case some(func(a AccountUsage) bool { return a.NearQuota }):
		return "degraded"
	}
	return "ok"
}

// summarizeWindow returns the mean of what is left of a window, and its first reset. It counts an account once, however many
// pools it is in.
func summarizeWindow(name string, accounts []AccountUsage) windowSummary {
	var left float64
	var reset time.Time
	seen := map[string]bool{}
	for _, a := range accounts {
		window, reported := a.Windows[name]
		if !reported || seen[a.Identity] {
			continue
		}
		seen[a.Identity] = true
		left += min(max(1-window.Utilization, 0), 1)
		if !window.Reset.IsZero() && (reset.IsZero() || window.Reset.Before(reset)) {
			reset = window.Reset
		}
	}
	var s windowSummary
	if len(seen) > 0 {
		mean := math.Round(left/float64(len(seen))*1e4) / 1e4
		s.Remaining = &mean
	}
	if !reset.IsZero() {
		unix := reset.Unix()
		s.ResetsAt = &unix
	}
	return s
}

// serve serves clients on this machine, and others that have a token (USE-2).
func (u *ClientUsage) serve(g *Gateway, w http.ResponseWriter, r *http.Request, s *snapshot) {
	if !g.fixed.Bind.Addr().IsLoopback() || wasForwarded(r.Header) {
		if f := s.requireToken(r); f != nil {
			g.refuse(w, r, f)
			return
		}
	}
	accounts := u.Accounts()
	shown := map[string]WindowUsage{}
	for _, name := range u.Windows {
		if window, ok := representative(name, accounts); ok {
			shown[name] = window
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, u.Append(nil, r.Header, shown))
}

// representative returns the usage of a window by the account that fills it first: the fullest of those that are used first.
// Accounts that are not available count only if no other reports the window. It reports false if no account does.
func representative(name string, accounts []AccountUsage) (best WindowUsage, ok bool) {
	priority := 0
	for _, a := range accounts {
		window, reported := a.Windows[name]
		if !reported {
			continue
		}
		better := !ok
		switch {
		case !ok:
		case window.Available != best.Available:
			better = window.Available
		case a.Priority != priority:
			better = a.Priority < priority
		default:
			better = window.Utilization > best.Utilization
		}
		if better {
			best, priority, ok = window, a.Priority, true
		}
	}
	return best, ok
}

// requireToken requires a client's token even if clients have none.
func (s *snapshot) requireToken(r *http.Request) *upstream.Failure {
	if !s.Config.Server.Clients.Present {
		return fail(http.StatusForbidden, dialect.Permission, "this endpoint needs a token of this gateway, which has none: its operator has to set up [server.auth]")
	}
	return s.authenticate(r.Header)
}

// wasForwarded reports whether a proxy forwarded the request, so that its sender may be anywhere.
func wasForwarded(h http.Header) bool {
	for name := range h {
		switch name {
		case "Forwarded", "Via", "X-Real-Ip":
			return true
		}
		if strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}
