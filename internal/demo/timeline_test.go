package demo

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/clock"
	"shunt/internal/observe"
	"shunt/internal/sim"
)

// from returns the record of a request that an account served.
func from(session, account string) *observe.Record {
	return &observe.Record{Session: session, Account: account, Status: 200, Model: "claude-sonnet-4-5", Tokens: &observe.Tokens{Output: 10}}
}

func moving(session, from, to, reason string, rotations ...observe.Rotation) *observe.Record {
	return &observe.Record{
		Session: session, Account: to, Status: 200, Model: "claude-sonnet-4-5",
		Move: &observe.Move{From: from, To: to, Reason: reason}, Rotations: rotations,
	}
}

// CLI-3: the timeline shows every move with its reason.
func TestTimeline(t *testing.T) {
	well := gauge{known: true, used: 0.5, soft: 0.98}
	full := gauge{known: true, used: 0.985, soft: 0.98}
	amberFull := []standing{{name: "amber", windows: [windows]gauge{fiveHour: full, sevenDay: well}}, {name: "birch"}}
	fableFull := []standing{{name: "amber", windows: [windows]gauge{well, well, full}}, {name: "birch"}}
	weekFull := []standing{{name: "amber", windows: [windows]gauge{fiveHour: well, sevenDay: full}}, {name: "birch"}}
	allWell := []standing{{name: "amber", windows: [windows]gauge{well, well, well}}, {name: "birch"}}
	fable := moving("a", "amber", "birch", "near_quota")
	fable.Model = "claude-Fable-5"

	type happening struct {
		record   *observe.Record
		accounts []standing
	}
	for _, c := range []struct {
		name    string
		records []happening
		want    []string
	}{
		{"near its quota", []happening{{moving("a", "amber", "birch", "near_quota"), amberFull}}, []string{
			"session 1 moved from amber to birch before amber hit its limit: 98% of its 5h window is used",
		}},
		{"near its weekly quota", []happening{{moving("a", "amber", "birch", "near_quota"), weekFull}}, []string{
			"session 1 moved from amber to birch before amber hit its limit: 98% of its 7d window is used",
		}},
		{"near its Fable quota", []happening{{fable, fableFull}}, []string{
			"session 1 moved from amber to birch before amber hit its limit: 98% of its Fable window is used",
		}},
		{"near its quota, but reset since", []happening{{moving("a", "amber", "birch", "near_quota"), allWell}}, []string{
			"session 1 moved from amber to birch: amber was near its limit",
		}},
		{"back after a reset", []happening{
			{moving("a", "amber", "birch", "near_quota"), amberFull},
			{moving("a", "birch", "amber", "returned"), allWell},
		}, []string{
			"session 1 moved from amber to birch before amber hit its limit: 98% of its 5h window is used",
			"session 1 returned to amber: its 5h window has reset",
		}},
		{"rejected, then cooling down", []happening{
			{moving("a", "amber", "birch", "failover", observe.Rotation{From: "amber", Reason: "rejected"}), amberFull},
			{moving("b", "amber", "birch", "cooled"), amberFull},
		}, []string{
			"session 1 moved from amber to birch: amber returned 429 because its 5h window is used up; birch served the request",
			"session 2 moved from amber to birch: amber is cooling down because its quota is used up (429)",
		}},
		{"cooling down, with the cause known only from the state", []happening{
			{moving("a", "amber", "birch", "cooled"), []standing{{name: "amber", cooldown: time.Second, cause: "throttled"}}},
		}, []string{
			"session 1 moved from amber to birch: amber is cooling down because it was throttled (429)",
		}},
		{"overloaded, then back", []happening{
			{moving("a", "amber", "birch", "failover", observe.Rotation{From: "amber", Reason: "overloaded"}), allWell},
			{moving("a", "birch", "amber", "returned"), allWell},
		}, []string{
			"session 1 moved from amber to birch: amber failed because it was overloaded (529); birch served the request",
			"session 1 returned to amber: it is available again",
		}},
		{"changes of the configuration", []happening{
			{moving("a", "amber", "birch", "disabled"), allWell},
			{moving("a", "birch", "amber", "pool_changed"), allWell},
		}, []string{
			"session 1 moved from amber to birch: amber was disabled",
			"session 1 moved from birch to amber: the list of accounts changed",
		}},
		{"a detour is not a move", []happening{{func() *observe.Record {
			r := from("a", "birch")
			r.Rotations = []observe.Rotation{{From: "amber", Reason: "throttled"}}
			return r
		}(), allWell}}, []string{
			"session 1 got one response from birch: amber failed because it was throttled (429)",
		}},
		{"sessions that move together", []happening{
			{from("a", "amber"), amberFull},
			{from("b", "amber"), amberFull},
			{from("c", "amber"), amberFull},
			{moving("b", "amber", "birch", "near_quota"), amberFull},
			{moving("d", "amber", "birch", "near_quota"), amberFull},
			{moving("a", "amber", "birch", "near_quota"), amberFull},
		}, []string{
			"sessions 1 and 2 and your session moved from amber to birch before amber hit its limit: 98% of its 5h window is used",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTimeline(clock.Clock{}, 3)
			for _, h := range c.records {
				s.record(h.record, h.accounts)
			}
			if diff := cmp.Diff(c.want, texts(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// texts returns the texts of the events.
func texts(s *timeline) []string {
	var f frame
	s.fill(&f)
	var list []string
	for _, e := range f.events {
		list = append(list, e.text)
	}
	return list
}

// Equal moves of several sessions are merged only if they are close in time.
func TestTimelineMerges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTimeline(clock.Clock{}, 2)
		s.record(moving("a", "amber", "birch", "disabled"), nil)
		time.Sleep(mergeWithin)
		s.record(moving("b", "amber", "birch", "disabled"), nil)
		want := []string{
			"session 1 moved from amber to birch: amber was disabled",
			"session 2 moved from amber to birch: amber was disabled",
		}
		if diff := cmp.Diff(want, texts(s)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTimelineCounts(t *testing.T) {
	s := newTimeline(clock.Clock{}, 1)
	s.record(from("a", "amber"), nil)
	s.record(moving("a", "amber", "birch", "disabled"), nil)
	gone := from("a", "amber")
	gone.End = observe.ClientGone
	s.record(gone, nil)
	s.record(&observe.Record{Session: "a", Account: "birch", Status: 529}, nil)
	s.turn(sim.Turn{})
	if err := s.err(); err != nil {
		t.Errorf("without a failure: %v", err)
	}

	failed := errors.New("failed")
	s.turn(sim.Turn{Err: failed})
	s.turn(sim.Turn{Err: errors.New("again")})
	if err := s.err(); !errors.Is(err, failed) {
		t.Errorf("with failures: %v", err)
	}
	var f frame
	s.fill(&f)
	if f.requests != 2 || f.moves != 1 || f.failures != 2 {
		t.Errorf("%d requests, %d moves, %d failures", f.requests, f.moves, f.failures)
	}
	if diff := cmp.Diff(map[string]usage{"amber": {1, 10}, "birch": {1, 0}}, f.served, cmp.AllowUnexported(usage{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]int{"birch": {1}}, f.sessionsAt); diff != "" {
		t.Error(diff)
	}
	for range 2 * maxEntries {
		s.note("another event", plain)
	}
	if n := len(texts(s)); n != maxEntries {
		t.Errorf("%d events are kept", n)
	}
}

func TestSessionNames(t *testing.T) {
	for want, sessions := range map[string][]int{
		"session 2":                         {2},
		"sessions 1 and 2":                  {1, 2},
		"sessions 1, 2, 3 and 4":            {1, 2, 3, 4},
		"5 sessions":                        {1, 2, 3, 4, 5},
		"your session":                      {6},
		"2 of your sessions":                {6, 7},
		"session 1 and your session":        {1, 6},
		"5 sessions and 2 of your sessions": {1, 2, 3, 4, 5, 6, 7},
	} {
		if got := sessionNames(sessions, 5); got != want {
			t.Errorf("%v are %q, want %q", sessions, got, want)
		}
	}
}
