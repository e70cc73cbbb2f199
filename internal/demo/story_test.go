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

// from is the record of a request that an account answered.
func from(session, account string) *observe.Record {
	return &observe.Record{Session: session, Account: account, Status: 200, Model: "claude-sonnet-4-5", Tokens: &observe.Tokens{Output: 10}}
}

func moving(session, from, to, reason string, rotations ...observe.Rotation) *observe.Record {
	return &observe.Record{
		Session: session, Account: to, Status: 200, Model: "claude-sonnet-4-5",
		Move: &observe.Move{From: from, To: to, Reason: reason}, Rotations: rotations,
	}
}

// CLI-3: every move is told with its reason.
func TestStory(t *testing.T) {
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
		name string
		told []happening
		want []string
	}{
		{"near its quota", []happening{{moving("a", "amber", "birch", "near_quota"), amberFull}}, []string{
			"session 1 moved from amber to birch before amber refuses: 98% of its 5h window is used",
		}},
		{"near its weekly quota", []happening{{moving("a", "amber", "birch", "near_quota"), weekFull}}, []string{
			"session 1 moved from amber to birch before amber refuses: 98% of its week is used",
		}},
		{"near its Fable quota", []happening{{fable, fableFull}}, []string{
			"session 1 moved from amber to birch before amber refuses: 98% of its Fable week is used",
		}},
		{"near its quota, which has reset since", []happening{{moving("a", "amber", "birch", "near_quota"), allWell}}, []string{
			"session 1 moved from amber to birch: amber was near its quota",
		}},
		{"home after a reset", []happening{
			{moving("a", "amber", "birch", "near_quota"), amberFull},
			{moving("a", "birch", "amber", "returned"), allWell},
		}, []string{
			"session 1 moved from amber to birch before amber refuses: 98% of its 5h window is used",
			"session 1 went home to amber: its 5h window has begun anew",
		}},
		{"rejected, and what follows", []happening{
			{moving("a", "amber", "birch", "failover", observe.Rotation{From: "amber", Reason: "rejected"}), amberFull},
			{moving("b", "amber", "birch", "cooled"), amberFull},
		}, []string{
			"session 1 moved from amber to birch: amber answered 429, its 5h window is used up; birch answered the same request",
			"session 2 moved from amber to birch: amber is resting, its quota is used up (429)",
		}},
		{"resting for a reason that is known from its state only", []happening{
			{moving("a", "amber", "birch", "cooled"), []standing{{name: "amber", cooldown: time.Second, cause: "throttled"}}},
		}, []string{
			"session 1 moved from amber to birch: amber is resting, it asked to slow down (429)",
		}},
		{"overloaded, and home", []happening{
			{moving("a", "amber", "birch", "failover", observe.Rotation{From: "amber", Reason: "overloaded"}), allWell},
			{moving("a", "birch", "amber", "returned"), allWell},
		}, []string{
			"session 1 moved from amber to birch: amber did not answer, it was overloaded (529); birch answered the same request",
			"session 1 went home to amber: it is usable again",
		}},
		{"changes of the configuration", []happening{
			{moving("a", "amber", "birch", "disabled"), allWell},
			{moving("a", "birch", "amber", "pool_changed"), allWell},
		}, []string{
			"session 1 moved from amber to birch: amber was switched off",
			"session 1 moved from birch to amber: the list of accounts was changed",
		}},
		{"a detour is no move", []happening{{func() *observe.Record {
			r := from("a", "birch")
			r.Rotations = []observe.Rotation{{From: "amber", Reason: "throttled"}}
			return r
		}(), allWell}}, []string{
			"session 1 was answered by birch this once: amber did not answer, it asked to slow down (429)",
		}},
		{"sessions that move together", []happening{
			{from("a", "amber"), amberFull},
			{from("b", "amber"), amberFull},
			{from("c", "amber"), amberFull},
			{moving("b", "amber", "birch", "near_quota"), amberFull},
			{moving("d", "amber", "birch", "near_quota"), amberFull},
			{moving("a", "amber", "birch", "near_quota"), amberFull},
		}, []string{
			"sessions 1 and 2 and your session moved from amber to birch before amber refuses: 98% of its 5h window is used",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(clock.Clock{}, 3)
			for _, h := range c.told {
				s.answered(h.record, h.accounts)
			}
			if diff := cmp.Diff(c.want, told(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func told(s *story) []string {
	var f frame
	s.fill(&f)
	var texts []string
	for _, e := range f.events {
		texts = append(texts, e.text)
	}
	return texts
}

// Sessions that take the same step long after each other are told apart.
func TestStoryKeepsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(clock.Clock{}, 2)
		s.answered(moving("a", "amber", "birch", "disabled"), nil)
		time.Sleep(closeBy)
		s.answered(moving("b", "amber", "birch", "disabled"), nil)
		want := []string{
			"session 1 moved from amber to birch: amber was switched off",
			"session 2 moved from amber to birch: amber was switched off",
		}
		if diff := cmp.Diff(want, told(s)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStoryCounts(t *testing.T) {
	s := newStory(clock.Clock{}, 1)
	s.answered(from("a", "amber"), nil)
	s.answered(moving("a", "amber", "birch", "disabled"), nil)
	gone := from("a", "amber")
	gone.End = observe.ClientGone
	s.answered(gone, nil)
	s.answered(&observe.Record{Session: "a", Account: "birch", Status: 529}, nil)
	s.turn(sim.Turn{})
	if err := s.verdict(); err != nil {
		t.Errorf("without a failure: %v", err)
	}

	refused := errors.New("refused")
	s.turn(sim.Turn{Err: refused})
	s.turn(sim.Turn{Err: errors.New("again")})
	if err := s.verdict(); !errors.Is(err, refused) {
		t.Errorf("with failures: %v", err)
	}
	var f frame
	s.fill(&f)
	if f.answers != 2 || f.moves != 1 || f.failures != 2 {
		t.Errorf("%d answers, %d moves, %d failures", f.answers, f.moves, f.failures)
	}
	if diff := cmp.Diff(map[string]served{"amber": {1, 10}, "birch": {1, 0}}, f.served, cmp.AllowUnexported(served{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]int{"birch": {1}}, f.seats); diff != "" {
		t.Error(diff)
	}
	for range 2 * keptEntries {
		s.tell("more", plain)
	}
	if n := len(told(s)); n != keptEntries {
		t.Errorf("%d events are kept", n)
	}
}

func TestSessionWords(t *testing.T) {
	for want, sessions := range map[string][]int{
		"session 2":                          {2},
		"sessions 1 and 2":                   {1, 2},
		"sessions 1, 2, 3 and 4":             {1, 2, 3, 4},
		"5 sessions":                         {1, 2, 3, 4, 5},
		"your session":                       {6},
		"2 sessions of yours":                {6, 7},
		"session 1 and your session":         {1, 6},
		"5 sessions and 2 sessions of yours": {1, 2, 3, 4, 5, 6, 7},
	} {
		if got := sessionWords(sessions, 5); got != want {
			t.Errorf("%v are %q, want %q", sessions, got, want)
		}
	}
}
