package upstream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// inHand is how many requests each account has in hand, and how many at once it would take.
func (w *world) inHand(what string, inFlight, allowance int) {
	w.Helper()
	synctest.Wait()
	for _, s := range w.Tested.Pool("anthropic") {
		if s.InFlight != inFlight || s.Allowance != allowance {
			w.Errorf("%s: %s has %d in hand of %d, want %d of %d", what, s.Name, s.InFlight, s.Allowance, inFlight, allowance)
		}
	}
}

// RMP-1, RMP-3: a slot is held from the choice to the last byte of a stream, the allowance grows with the headers, and
// the client's leaving ends both.
func TestSlotOfAStream(t *testing.T) {
	config := sim.Config{Accounts: simtest.Accounts(1), Output: sim.Range{Min: 40, Max: 40}, Pace: sim.Pace{FirstByte: 10 * time.Second, Delta: 2 * time.Second}}
	inWorld(t, config, poolOf().ramp(3), func(w *world) {
		answered := w.Begin(w.Context(), "", simtest.PlainModel)
		time.Sleep(5 * time.Second)
		w.inHand("no headers yet", 1, 3)
		time.Sleep(10 * time.Second)
		w.inHand("in the middle of the stream", 1, 6)
		<-answered
		w.inHand("at its end", 0, 6)

		ctx, leave := context.WithCancel(w.Context())
		answered = w.Begin(ctx, "", simtest.PlainModel)
		time.Sleep(15 * time.Second)
		w.inHand("in the middle of another", 1, 12)
		leave()
		<-answered
		w.inHand("the client has left", 0, 12)

		ctx, leave = context.WithCancel(w.Context())
		answered = w.Begin(ctx, "", simtest.PlainModel)
		time.Sleep(5 * time.Second)
		leave()
		<-answered
		w.inHand("the client has left before the headers", 0, 12)
	})
}

// RMP-1, RMP-3: what else becomes of a request gives the slot back too; a relayed refusal is no success.
func TestSlotsAreGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		fault     sim.Fault
		allowance int // afterwards
	}{
		"a success":            {sim.SlowHeaders(time.Second), 4},
		"a 400":                {sim.Failure(400, "invalid_request_error", "no").Times(1), 2},
		"a 529":                {sim.Overloaded().Times(1), 2},
		"a lost connection":    {sim.ResetConnection().Times(2), 2},
		"a lost one, resent":   {sim.ResetConnection().Times(1), 4},
		"a throttle, waited":   {sim.Throttled("2").Times(1), 4},
		"a throttle, long":     {sim.Throttled("50").Times(1), 4},
		"a throttle, too long": {sim.Throttled("90").Times(1), 2},
		"an error stream":      {sim.ErrorStream("overloaded_error").Times(1), 2},
		"a cut stream":         {sim.Abort(3).Times(1), 4},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf().ramp(2), func(w *world) {
			w.Provider.Inject("", c.fault)
			w.Request("", simtest.PlainModel, true)
			w.inHand(name, 0, c.allowance)
		})
	}
}

// RMP-2, SEL-30: a session whose account takes no more for the moment is served by another, once, and does not move. When no
// account takes more, its request waits for a slot.
func TestRampSendsOnADetour(t *testing.T) {
	config := sim.Config{Accounts: simtest.Accounts(2), Pace: sim.Pace{FirstByte: 5 * time.Second}}
	inWorld(t, config, poolOf().ramp(1), func(w *world) {
		home := w.Home("s")
		first := w.Begin(w.Context(), "s", simtest.PlainModel)
		time.Sleep(time.Second)
		second := w.Begin(w.Context(), "s", simtest.PlainModel)
		time.Sleep(time.Second)
		third := w.Begin(w.Context(), "s", simtest.PlainModel)
		a, b := <-first, <-second
		w.Want("in the record", w.Last().Why, "ramp")
		c := <-third
		if a.Account != home || b.Account == home || c.Account != home || c.Status != 200 {
			w.Errorf("served by %s, %s, %s", a.Account, b.Account, c.Account)
		}
		w.Want("in the record of the one that waited", w.Last().Why, "sticky")
		w.Want("served next by", w.MustServe("s", simtest.PlainModel), home)
		w.Want("moves", len(w.Moves()), 0)
	})
}
