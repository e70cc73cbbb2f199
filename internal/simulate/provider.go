package simulate

import (
	"math"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/quota"
)

// provider is the quota of the accounts during a run.
type provider struct {
	start    time.Time
	accounts []ledger
	reset    time.Duration // the next one of any window
}

// ledger is the use of one account.
type ledger struct {
	windows [claude.WindowCount]meter
}

type meter struct {
	limit
	closed func(unused float64) // called when the window resets
}

// response is the provider's response to one request.
type response struct {
	served bool
	signal quota.Signal
	full   quota.Set // the windows that refuse it
	resets [claude.WindowCount]time.Duration
	retry  time.Duration // until the last of the full ones resets
}

func newProvider(start time.Time, accounts []account) *provider {
	p := &provider{start: start, accounts: make([]ledger, len(accounts))}
	for i := range accounts {
		for w, l := range accounts[i].windows {
			p.accounts[i].windows[w].limit = l
		}
	}
	return p
}

// advance resets the windows that are due.
func (p *provider) advance(now time.Duration) {
	if now < p.reset {
		return
	}
	p.reset = math.MaxInt64
	for i := range p.accounts {
		for w := range p.accounts[i].windows {
			m := &p.accounts[i].windows[w]
			for now >= m.reset {
				if m.closed != nil {
					m.closed(max(0, m.size-m.used))
				}
				m.used = 0
				m.reset += m.length
			}
			p.reset = min(p.reset, m.reset)
		}
	}
}

// full returns the windows that refuse a request.
func (l *ledger) full(fable bool) quota.Set {
	var full quota.Set
	for w := range l.windows {
		if m := &l.windows[w]; m.used >= m.size && counts(w, fable) {
			full |= quota.Of(w)
		}
	}
	return full
}

// charge counts what a request used.
func (l *ledger) charge(units float64, fable bool) {
	for w := range l.windows {
		if counts(w, fable) {
			l.windows[w].used += units
		}
	}
}

// send sends a request to an account. The caller charges what is served.
func (p *provider) send(account int, fable bool, now time.Duration) response {
	l := &p.accounts[account]
	a := response{full: l.full(fable)}
	a.served = a.full == 0
	a.signal.Status = "allowed"
	for w := range l.windows {
		m := &l.windows[w]
		s := quota.WindowSignal{Utilization: m.used / m.size, HasUtilization: true, Reset: p.start.Add(m.reset), Status: "allowed"}
		if m.used >= m.size {
			s.Status = "rejected"
		}
		if a.full.Has(w) {
			a.retry = max(a.retry, m.reset-now)
			a.signal.Status = "rejected"
		}
		a.signal.Windows[w], a.resets[w] = s, m.reset
	}
	return a
}

// usage returns the response of the usage endpoint for an account.
func (p *provider) usage(account int) quota.Usage {
	var u quota.Usage
	for w := range p.accounts[account].windows {
		m := &p.accounts[account].windows[w]
		u.Windows[w] = quota.WindowUsage{Utilization: m.used / m.size, Has: true, Reset: p.start.Add(m.reset)}
	}
	return u
}

// fableOnly reports whether only the Fable week refuses.
func (a *response) fableOnly() bool { return a.full == quota.Of(claude.Fable) }
