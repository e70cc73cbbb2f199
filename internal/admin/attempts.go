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
	triesPerWindow = 30
	tryWindow      = time.Minute
	triesLogEvery  = time.Second

	// maxAddresses bounds the memory of failed attempts; the least recent go first. An attacker who has more
	// networks than that gains nothing by having them forgotten.
	maxAddresses = 4096
)

// attempts limits failed attempts to log in and logs them (ADM-2). The tokens are long, so it is the log and the CPU that
// the limit protects: it never refuses a correct credential, and so nobody can lock the owner out.
type attempts struct {
	clock clock.Clock
	log   *slog.Logger

	mu      sync.Mutex
	windows *simplelru.LRU[netip.Prefix, tries]
	logged  time.Time
	waiting int // failures since then that are not logged yet
	latest  failure
}

// failure is a failed attempt as it is logged.
type failure struct {
	address netip.Addr
	by      string
	limited bool
}

// tries are the failed attempts from one network since a time, for at most tryWindow.
type tries struct {
	since time.Time
	count int
}

func newAttempts(c clock.Clock, log *slog.Logger) *attempts {
	windows, _ := simplelru.NewLRU[netip.Prefix, tries](maxAddresses, nil) // fails for a size below 1 only
	return &attempts{clock: c, log: log, windows: windows}
}

// failed takes in a failed attempt: a wrong token in a form, a header or as a bearer token. It returns how long the address
// has to wait if that was one too many, else 0.
func (a *attempts) failed(address netip.Addr, by string) (wait time.Duration) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	network := networkOf(address)
	t, known := a.windows.Get(network)
	if !known || now.Sub(t.since) >= tryWindow {
		t = tries{since: now}
	}
	if t.count++; t.count > triesPerWindow {
		wait = t.since.Add(tryWindow).Sub(now)
	}
	a.windows.Add(network, t)
	a.latest = failure{address, by, wait > 0}
	a.waiting++
	a.write(now)
	return wait
}

// flush logs the failures that are not logged yet, if another line is allowed by now.
func (a *attempts) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(a.clock.Now())
}

// write logs the latest failure and how many others it suppresses, at most once in triesLogEvery.
func (a *attempts) write(now time.Time) {
	if a.waiting == 0 || now.Sub(a.logged) < triesLogEvery {
		return
	}
	a.log.Warn("wrong admin credential", "address", a.latest.address, "by", a.latest.by, "limited", a.latest.limited, "suppressed", a.waiting-1)
	a.logged, a.waiting = now, 0
}

// networkOf returns what counts as one address: a host has a whole /64 of IPv6 to itself.
func networkOf(address netip.Addr) netip.Prefix {
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // the zero prefix for an address that is not known
	return network
}
