package demo

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/observe"
	"shunt/internal/sim"
)

// timeline collects the events of a demo. It is safe for concurrent use.
type timeline struct {
	clock     clock.Clock
	began     time.Time // on that clock
	simulated int       // number of simulated sessions

	mu         sync.Mutex
	sessions   map[string]int    // number by name in the records, in order of first request
	sessionsAt map[int]string    // account that served each session last
	left       map[departure]int // the window because of which a session left an account; -1 = another reason
	failed     map[string]string // reason by account of its latest failover
	served     map[string]usage  // by account
	requests   int
	moves      int
	failures   int
	failure    error // the first one
	entries    []entry
}

// departure identifies a session that left an account.
type departure struct {
	session int
	account string
}

// usage counts what an account served.
type usage struct {
	requests int
	tokens   int64
}

// event is something to show.
type event struct {
	at    time.Duration // since the start, on the demo's clock
	text  string
	style style
}

// entry is an event that may concern several sessions.
type entry struct {
	event          // its text continues after the sessions' names
	sessions []int // sorted; empty if it does not concern sessions
	kind     string
}

const (
	maxEntries  = 50
	mergeWithin = 2 * time.Minute // on the demo's clock: entries of one kind this close together are merged
)

func newTimeline(c clock.Clock, simulated int) *timeline {
	return &timeline{
		clock: c, began: c.Now(), simulated: simulated,
		sessions: map[string]int{}, sessionsAt: map[int]string{}, left: map[departure]int{},
		failed: map[string]string{}, served: map[string]usage{},
	}
}

// record adds the record of an ended request, with the current accounts.
func (s *timeline) record(r *observe.Record, accounts []standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, known := s.sessions[r.Session]
	if !known {
		session = len(s.sessions) + 1
		s.sessions[r.Session] = session
	}
	for _, rotation := range r.Rotations {
		s.failed[rotation.From] = rotation.Reason
	}
	if r.Status/100 != 2 || r.End != "" {
		return
	}
	s.requests++
	s.sessionsAt[session] = r.Account
	account := s.served[r.Account]
	account.requests++
	if t := r.Tokens; t != nil {
		account.tokens += t.Input + t.Output + t.CacheRead + t.CacheCreation
	}
	s.served[r.Account] = account
	switch {
	case r.Move != nil:
		s.moves++
		because := nearWindow(accounts, r.Move.From, isFable(r.Model))
		s.addFor(session, s.move(r, session, accounts), r.Move.Reason+r.Move.From+r.Move.To)
		s.left[departure{session, r.Move.From}] = because
	case len(r.Rotations) > 0:
		first := r.Rotations[0]
		text := fmt.Sprintf("got one response from %s: %s", r.Account, s.failureText(first.From, isFable(r.Model), accounts))
		s.addFor(session, text, "detour "+r.Account)
	}
}

func (s *timeline) addFor(session int, text, kind string) {
	s.add(entry{event: event{at: s.now(), text: text}, sessions: []int{session}, kind: kind})
}

// turn adds the failure of a simulated session's turn.
func (s *timeline) turn(t sim.Turn) {
	if t.Err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	if s.failure == nil {
		s.failure = t.Err
	}
	s.add(entry{event: event{at: s.now(), text: "a session's request failed: " + t.Err.Error(), style: bad}})
}

// note adds an event that does not concern a session.
func (s *timeline) note(text string, style style) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(entry{event: event{at: s.now(), text: text, style: style}})
}

// err returns an error if a request of a simulated session failed.
func (s *timeline) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures == 0 {
		return nil
	}
	return fmt.Errorf("%s of the simulated sessions failed; the first: %w", counted(s.failures, "request"), s.failure)
}

// fill copies the timeline into a frame.
func (s *timeline) fill(f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.served = maps.Clone(s.served)
	f.requests, f.moves, f.failures = s.requests, s.moves, s.failures
	f.sessionsAt = map[string][]int{}
	for _, session := range slices.Sorted(maps.Keys(s.sessionsAt)) {
		account := s.sessionsAt[session]
		f.sessionsAt[account] = append(f.sessionsAt[account], session)
	}
	f.numSimulated = s.simulated
	f.events = make([]event, len(s.entries))
	for i, e := range s.entries {
		f.events[i] = e.event
		if len(e.sessions) > 0 {
			f.events[i].text = sessionNames(e.sessions, s.simulated) + " " + e.text
		}
	}
}

func (s *timeline) add(e entry) {
	if n := len(s.entries); n > 0 && len(e.sessions) > 0 {
		if last := &s.entries[n-1]; last.kind == e.kind && e.at-last.at < mergeWithin {
			last.sessions = append(last.sessions, e.sessions...)
			slices.Sort(last.sessions)
			last.sessions = slices.Compact(last.sessions)
			last.text = e.text
			return
		}
	}
	if len(s.entries) == maxEntries {
		s.entries = slices.Delete(s.entries, 0, 1)
	}
	s.entries = append(s.entries, e)
}

func (s *timeline) now() time.Duration { return s.clock.Now().Sub(s.began) }
