package sim

import (
	"math"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
)

// Account is an account of a provider: a subscription with quota windows, or a paid key.
type Account struct {
	Name string // unique within its provider
	// UUID and Organization are derived from the seed and the name if empty.
	UUID, Organization string
	// APIKey makes the account a paid key instead of a subscription: the key is accepted in x-api-key or as a bearer
	// token, and the account has neither OAuth credentials nor windows.
	APIKey string

	FiveHour, SevenDay, Fable Window
}

// Window describes an account's quota window at the start of the simulation. Windows have their real lengths: five hours or
// seven days.
type Window struct {
	// Size is the window's capacity in tokens, where a cached token counts a tenth. Zero means 2 million for five hours,
	// 20 million for seven days and 8 million for the Fable family.
	Size int64
	// Fill is the used fraction at the start.
	Fill float64
	// ResetIn is the time until the first reset. Zero means the window's length.
	ResetIn time.Duration
	// Off disables the window: it is not reported and never full.
	Off bool
}

// The statuses of a window, and the utilization at which it begins to warn.
const (
	allowed  = "allowed"
	warning  = "allowed_warning"
	rejected = "rejected"

	warnAt = 0.8
)

var (
	windowLengths = [messages.Windows]time.Duration{5 * time.Hour, 7 * 24 * time.Hour, 7 * 24 * time.Hour}
	windowSizes   = [messages.Windows]int64{2_000_000, 20_000_000, 8_000_000}
)

type account struct {
	Account
	windows  [messages.Windows]window
	refresh  string // the only valid refresh token; empty for a paid key
	current  string // the newest access token
	faults   []Fault
	counters Counters
}

type window struct{ engine.Window }

func (p *Provider) newAccount(config Account, now time.Time) *account {
	r := engine.Rand(p.config.Seed, "account", config.Name)
	if config.UUID == "" {
		config.UUID = engine.UUID(r)
	}
	if config.Organization == "" {
		config.Organization = engine.UUID(r)
	}
	a := &account{Account: config, counters: Counters{ByStatus: map[int]int64{}}}
	for i, w := range []Window{config.FiveHour, config.SevenDay, config.Fable} {
		if w.Size == 0 {
			w.Size = windowSizes[i]
		}
		a.windows[i].Window = engine.WindowAt(now, windowLengths[i], w.Size, w.Fill, w.ResetIn)
		a.windows[i].Off = w.Off || config.APIKey != ""
	}
	if config.APIKey == "" {
		p.issue(a, now)
	}
	return a
}

func (w *window) status() string {
	switch {
	case w.Full():
		return rejected
	case w.Utilization() >= warnAt:
		return warning
	}
	return allowed
}

// expire resets the windows whose reset time has passed.
func (a *account) expire(now time.Time) {
	for i := range a.windows {
		a.windows[i].Expire(now)
	}
}

func (a *account) charge(tokens float64, fable bool) {
	for i := range a.windows {
		if messages.Window(i) != messages.Fable || fable {
			a.windows[i].Used += tokens
		}
	}
}

// full returns the windows that are full for a request.
func (a *account) full(fable bool) (full []messages.Window) {
	for i := range a.windows {
		if w := messages.Window(i); a.windows[i].Full() && (w != messages.Fable || fable) {
			full = append(full, w)
		}
	}
	return full
}

// limits returns the windows as headers report them (QUO-1). The aggregate status is the worst of the windows that apply to
// every request.
func (a *account) limits() messages.RateLimit {
	var l messages.RateLimit
	for i := range a.windows {
		w := &a.windows[i]
		if w.Off {
			continue
		}
		l.Windows[i] = messages.WindowLimit{
			Utilization:    math.Round(w.Utilization()*1e6) / 1e6,
			HasUtilization: true,
			Reset:          w.Resets.Unix(),
			Status:         w.status(),
		}
	}
	l.Status = worst(l.Windows[messages.FiveHour].Status, l.Windows[messages.SevenDay].Status)
	return l
}

// served returns the limits that the response to a served request reports: none of its windows is rejected.
func (a *account) served(fable bool) messages.RateLimit {
	l := a.limits()
	for i := range l.Windows {
		if messages.Window(i) != messages.Fable || fable {
			l.Windows[i].Status = notRejected(l.Windows[i].Status)
		}
	}
	l.Status = notRejected(l.Status)
	return l
}

func notRejected(status string) string {
	if status == rejected {
		return warning
	}
	return status
}

// worst relies on the statuses' alphabetical order, which is also their order of severity.
func worst(a, b string) string { return max(a, b) }

func isFable(model string) bool { return strings.Contains(strings.ToLower(model), "fable") }
