package upstream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// wantInFlight reports an error unless each account has so many requests in flight, and may have so many.
func (w *world) wantInFlight(what string, inFlight, allowance int) {
	w.Helper()
	synctest.Wait()
	for _, s := range w.Tested.Pool("anthropic") {
		if s.InFlight != inFlight || s.Allowance != allowance {
			w.Errorf("%s: %s has %d of %d requests in flight, want %d of %d", what, s.Name, s.InFlight, s.Allowance, inFlight, allowance)
		}
	}
}

// RMP-1, RMP-3: a request has a slot from the choice of the account to the last byte of the stream, the allowance grows with
// the headers, and both end when the client leaves.
func TestSlotOfAStream(t *testing.T) {
	config := sim.Config{Accounts: simtest.Accounts(1), Output: sim.Range{Min: 40, Max: 40}, Pace: sim.Pace{FirstByte: 10 * time.Second, Delta: 2 * time.Second}}
	inWorld(t, config, poolOf().ramp(3), func(w *world) {
		done := w.Begin(w.Context(), "", simtest.PlainModel)
		time.Sleep(5 * time.Second)
		w.wantInFlight("no headers yet", 1, 3)
		time.Sleep(10 * time.Second)
		w.wantInFlight("in the middle of the stream", 1, 6)
		<-done
		w.wantInFlight("at its end", 0, 6)

		ctx, leave := context.WithCancel(w.Context())
		done = w.Begin(ctx, "", simtest.PlainModel)
		time.Sleep(15 * time.Second)
		w.wantInFlight("in the middle of another", 1, 12)
		leave()
		<-done
		w.wantInFlight("the client has left", 0, 12)

		ctx, leave = context.WithCancel(w.Context())
		done = w.Begin(ctx, "", simtest.PlainModel)
		time.Sleep(5 * time.Second)
		leave()
		<-done
		w.wantInFlight("the client has left before the headers", 0, 12)
	})
}

// RMP-1, RMP-3: every end of a request releases its slot; a relayed refusal is not a success.
func TestSlotsAreReleased(t *testing.T) {
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
		"a truncated stream":   {sim.Abort(3).Times(1), 4},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf().ramp(2), func(w *world) {
			w.Provider.Inject("", c.fault)
			w.Request("", simtest.PlainModel, true)
			w.wantInFlight(name, 0, c.allowance)
		})
	}
}

// RMP-2, SEL-30: a session whose account has no free slot is served by another, once, and does not move. When no account
// has one, its request waits for a slot.
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
