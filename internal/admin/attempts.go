package admin

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"shunt/internal/clock"
)

const (
	attemptLimit    = 30 // failed attempts in an attemptWindow
	attemptWindow   = time.Minute
	attemptLogEvery = time.Second

	// maxNetworks limits how many networks are remembered; the least recently seen is forgotten first. An attacker with more
	// networks gains nothing from that.
	maxNetworks = 4096
)

// attempts limits and logs failed attempts to log in (ADM-2). Tokens are long, so the limit protects the log and the CPU. It never
// refuses a correct credential, so an attacker cannot lock out the operator.
type attempts struct {
	clock clock.Clock
	log   *slog.Logger

	mu      sync.Mutex
	windows *simplelru.LRU[netip.Prefix, failures]
	logged  time.Time
	waiting int // failures since then, which are not logged yet
	latest  failure
}

// failure describes a failed attempt for the log.
type failure struct {
	address netip.Addr
	by      string
	limited bool
}

// failures counts the failed attempts from one network in an attemptWindow.
type failures struct {
	since time.Time
	count int
}

func newAttempts(c clock.Clock, log *slog.Logger) *attempts {
	windows, _ := simplelru.NewLRU[netip.Prefix, failures](maxNetworks, nil) // fails only for a size below 1
	return &attempts{clock: c, log: log, windows: windows}
}

// failed counts a failed attempt: a wrong token in a form, in a header or as a bearer token. If the address is over the limit,
// failed returns how long it has to wait, else 0.
func (a *attempts) failed(address netip.Addr, by string) (wait time.Duration) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	network := networkOf(address)
	f, known := a.windows.Get(network)
	if !known || now.Sub(f.since) >= attemptWindow {
		f = failures{since: now}
	}
	if f.count++; f.count > attemptLimit {
		wait = f.since.Add(attemptWindow).Sub(now)
	}
	a.windows.Add(network, f)
	a.latest = failure{address, by, wait > 0}
	a.waiting++
	a.write(now)
	return wait
}

// flush logs waiting failures, if another line is allowed.
func (a *attempts) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(a.clock.Now())
}

// write logs the latest failure and the number of suppressed ones, at most once in attemptLogEvery.
func (a *attempts) write(now time.Time) {
	if a.waiting == 0 || now.Sub(a.logged) < attemptLogEvery {
		return
	}
	a.log.Warn("wrong admin credential", "address", a.latest.address, "by", a.latest.by, "limited", a.latest.limited, "suppressed", a.waiting-1)
	a.logged, a.waiting = now, 0
}

// networkOf returns the network that is limited as one address: for IPv6 the /64, since a host may use all of its addresses.
func networkOf(address netip.Addr) netip.Prefix {
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // the zero prefix for an unknown address
	return network
}
