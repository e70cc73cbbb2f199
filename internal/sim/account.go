package sim

import (
	"math"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
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

type window struct {
	length time.Duration
	size   int64
	used   float64 // tokens; may exceed size
	resets time.Time
	off    bool
}

func (p *Provider) newAccount(config Account, now time.Time) *account {
	r := rng(p.config.Seed, "account", config.Name)
	if config.UUID == "" {
		config.UUID = randomUUID(r)
	}
	if config.Organization == "" {
		config.Organization = randomUUID(r)
	}
	a := &account{Account: config, counters: Counters{ByStatus: map[int]int64{}}}
	for i, w := range []Window{config.FiveHour, config.SevenDay, config.Fable} {
		if w.Size == 0 {
			w.Size = windowSizes[i]
		}
		if w.ResetIn == 0 {
			w.ResetIn = windowLengths[i]
		}
		a.windows[i] = window{
			length: windowLengths[i],
			size:   w.Size,
			used:   w.Fill * float64(w.Size),
			resets: now.Add(w.ResetIn + time.Second - 1).Truncate(time.Second), // headers have whole seconds
			off:    w.Off || config.APIKey != "",
		}
	}
	if config.APIKey == "" {
		p.issue(a, now)
	}
	return a
}

func (w *window) utilization() float64 { return w.used / float64(w.size) }

func (w *window) full() bool { return !w.off && w.used >= float64(w.size) }

func (w *window) status() string {
	switch {
	case w.full():
		return rejected
	case w.utilization() >= warnAt:
		return warning
	}
	return allowed
}

// expire resets the windows whose reset time has passed.
func (a *account) expire(now time.Time) {
	for i := range a.windows {
		w := &a.windows[i]
		if late := now.Sub(w.resets); late >= 0 {
			w.used = 0
			w.resets = w.resets.Add(w.length * (late/w.length + 1))
		}
	}
}

func (a *account) charge(tokens float64, fable bool) {
	for i := range a.windows {
		if messages.Window(i) != messages.Fable || fable {
			a.windows[i].used += tokens
		}
	}
}

// full returns the windows that are full for a request.
func (a *account) full(fable bool) (full []messages.Window) {
	for i := range a.windows {
		if w := messages.Window(i); a.windows[i].full() && (w != messages.Fable || fable) {
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
		if w.off {
			continue
		}
		l.Windows[i] = messages.WindowLimit{
			Utilization:    math.Round(w.utilization()*1e6) / 1e6,
			HasUtilization: true,
			Reset:          w.resets.Unix(),
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
