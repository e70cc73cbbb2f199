package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/observe"
	"shunt/internal/sim"
)

// story collects what happens in a demo. It is safe for concurrent use.
type story struct {
	clock     clock.Clock
	began     time.Time // on that clock
	simulated int       // sessions

	mu       sync.Mutex
	sessions map[string]int    // number by name in the records, in the order in which they were first seen
	seats    map[int]string    // account that answered a session last
	left     map[departure]int // the window because of which a session left an account, -1 = another reason
	refused  map[string]string // reason by account, of the last request that went on from it to another
	served   map[string]served // by account
	answers  int
	moves    int
	failures int
	failure  error // the first
	entries  []entry
}

// departure is a session's leaving an account.
type departure struct {
	session int
	account string
}

// served is what an account did.
type served struct {
	requests int
	tokens   int64
}

// event is one thing that happened, for display.
type event struct {
	at   time.Duration // since the start, of the accounts' time
	text string
	mood mood
}

// entry is an event that may have happened to several sessions.
type entry struct {
	event          // its text goes on after the sessions' names
	sessions []int // sorted; none: it is about no session
	kind     string
}

const (
	keptEntries = 50
	closeBy     = 2 * time.Minute // of the accounts' time: entries of one kind that come so close are one
)

func newStory(c clock.Clock, simulated int) *story {
	return &story{
		clock: c, began: c.Now(), simulated: simulated,
		sessions: map[string]int{}, seats: map[int]string{}, left: map[departure]int{},
		refused: map[string]string{}, served: map[string]served{},
	}
}

// answered takes in the end of a request at the gateway. Accounts are as they stand now.
func (s *story) answered(r *observe.Record, accounts []standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, known := s.sessions[r.Session]
	if !known {
		session = len(s.sessions) + 1
		s.sessions[r.Session] = session
	}
	for _, rotation := range r.Rotations {
		s.refused[rotation.From] = rotation.Reason
	}
	if r.Status/100 != 2 || r.End != "" {
		return
	}
	s.answers++
	s.seats[session] = r.Account
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
		s.happened(session, s.move(r, session, accounts), r.Move.Reason+r.Move.From+r.Move.To)
		s.left[departure{session, r.Move.From}] = because
	case len(r.Rotations) > 0:
		first := r.Rotations[0]
		text := fmt.Sprintf("was answered by %s this once: %s", r.Account, s.refusal(first.From, isFable(r.Model), accounts))
		s.happened(session, text, "detour "+r.Account)
	}
}

func (s *story) happened(session int, text, kind string) {
	s.add(entry{event: event{at: s.now(), text: text}, sessions: []int{session}, kind: kind})
}

// turn takes in a turn as a simulated session saw it.
func (s *story) turn(t sim.Turn) {
	if t.Err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	if s.failure == nil {
		s.failure = t.Err
	}
	s.add(entry{event: event{at: s.now(), text: "a session saw a failure: " + t.Err.Error(), mood: bad}})
}

// tell takes in what happened beside the answers.
func (s *story) tell(what string, m mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(entry{event: event{at: s.now(), text: what, mood: m}})
}

// verdict is an error if a simulated session saw a failure.
func (s *story) verdict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures == 0 {
		return nil
	}
	return fmt.Errorf("the simulated sessions saw %s; the first: %w", counted(s.failures, "failure"), s.failure)
}

// fill copies the story so far into a frame.
func (s *story) fill(f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.served = maps.Clone(s.served)
	f.answers, f.moves, f.failures = s.answers, s.moves, s.failures
	f.seats = map[string][]int{}
	for _, session := range slices.Sorted(maps.Keys(s.seats)) {
		account := s.seats[session]
		f.seats[account] = append(f.seats[account], session)
	}
	f.simulatedSessions = s.simulated
	f.events = make([]event, len(s.entries))
	for i, e := range s.entries {
		f.events[i] = e.event
		if len(e.sessions) > 0 {
			f.events[i].text = sessionWords(e.sessions, s.simulated) + " " + e.text
		}
	}
}

func (s *story) add(e entry) {
	if n := len(s.entries); n > 0 && len(e.sessions) > 0 {
		if last := &s.entries[n-1]; last.kind == e.kind && e.at-last.at < closeBy {
			last.sessions = append(last.sessions, e.sessions...)
			slices.Sort(last.sessions)
			last.sessions = slices.Compact(last.sessions)
			last.text = e.text
			return
		}
	}
	if len(s.entries) == keptEntries {
		s.entries = slices.Delete(s.entries, 0, 1)
	}
	s.entries = append(s.entries, e)
}

func (s *story) now() time.Duration { return s.clock.Now().Sub(s.began) }

func isFable(model string) bool { return strings.Contains(strings.ToLower(model), "fable") }
