package admin

import (
	"sync"
	"time"

	"shunt/internal/observe"
	"shunt/internal/quota"
)

// recentLimit is how many requests are kept for the page.
const recentLimit = 200

// recent holds the latest requests, oldest first.
type recent struct {
	mu      sync.Mutex
	records []*observe.Record
}

func (l *recent) add(r *observe.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.records) == recentLimit {
		copy(l.records, l.records[1:])
		l.records = l.records[:recentLimit-1]
	}
	l.records = append(l.records, r)
}

// newest returns up to n requests, newest first.
func (l *recent) newest(n int) []*observe.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(n, len(l.records))
	list := make([]*observe.Record, n)
	for i := range list {
		list[i] = l.records[len(l.records)-1-i]
	}
	return list
}

func (l *recent) find(id string) (*observe.Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if r.RequestID == id {
			return r, true
		}
	}
	return nil, false
}

const (
	sampleEvery  = 2 * time.Minute
	historyLimit = 180 // samples: six hours
)

// sample is the utilization of the windows of an account at one time, as fractions; -1 is unknown.
type sample struct {
	at          time.Time
	utilization [quota.MaxWindows]float64 // by their order in the account's state
}

// history holds the utilization of each account over the last hours.
type history struct {
	mu      sync.Mutex
	samples map[string][]sample // by provider and account_ref
}

func (h *history) add(now time.Time, pools Pools) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := map[string][]sample{}
	for _, p := range pools.Providers {
		for i := range p.Accounts {
			a := &p.Accounts[i]
			s := sample{at: now}
			for i, w := range a.AllWindows() {
				s.utilization[i] = -1
				if w.Utilization != nil {
					s.utilization[i] = *w.Utilization
				}
			}
			key := p.Provider + "/" + a.AccountRef
			list := append(h.samples[key], s)
			next[key] = list[max(0, len(list)-historyLimit):]
		}
	}
	h.samples = next
}

func (h *history) of(provider, ref string) []sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]sample(nil), h.samples[provider+"/"+ref]...)
}
