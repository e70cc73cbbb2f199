package upstream_test

import (
	"context"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/observe"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// FO-5, FO-6: when the client leaves, whenever that is, the provider's request ends at once, no other account is tried and
// none cools down.
func TestClientLeaves(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  sim.Fault
		after  time.Duration
		status int         // that the client has seen by then
		noted  int         // the status in the record
		ended  sim.Outcome // of the provider's only request
	}{
		{"before headers", sim.Hang(), 10 * time.Second, 0, 0, sim.Canceled},
		{"before the first event", sim.SlowFirstEvent(time.Minute), 9 * time.Second, 0, 200, sim.Canceled},
		{"after the first ping", sim.SlowFirstEvent(time.Minute), 40 * time.Second, 200, 200, sim.Canceled},
		{"in the middle", sim.SlowHeaders(0), 10 * time.Second, 200, 200, sim.Canceled},
		{"during a short wait", sim.Throttled("5"), 3 * time.Second, 0, 0, sim.Complete},
		{"while a failure's body stalls", simtest.Stall(529), time.Second, 0, 0, sim.Canceled},
		{"while a refusal's body stalls", simtest.Stall(403), time.Second, 0, 403, sim.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			pace := sim.Pace{Delta: time.Second}
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2), Pace: pace}, poolOf(), func(w *world) {
				home := w.MustServe("s", simtest.PlainModel)
				before := w.Seen()
				w.Provider.Inject(home, c.fault.Times(1))
				ctx, leave := context.WithCancel(w.Context())
				done := w.Begin(ctx, "s", simtest.PlainModel)
				time.Sleep(c.after)
				leave()
				synctest.Wait()
				if r := <-done; r.Status != c.status {
					w.Errorf("the client saw %d", r.Status)
				}
				requests := w.Provider.Requests()[before:]
				if len(requests) != 1 || requests[0].Outcome != c.ended {
					w.Errorf("%d requests, the first ended %q", len(requests), requests[0].Outcome)
				}
				for _, s := range w.Tested.Pool("anthropic") {
					if s.Cooldown != 0 || s.In(claude.FableScope).Cooldown != 0 {
						w.Errorf("%s cools down for %v (%v)", s.Name, s.Cooldown, s.Cause)
					}
				}
				if r := w.Last(); r.End != observe.ClientGone || r.Status != c.noted || len(r.Rotations) != 0 {
					w.Errorf("record %+v", r)
				}
				if got := w.MustServe("s", simtest.PlainModel); got != home {
					w.Errorf("the next turn is served by %s, home is %s", got, home)
				}
			})
		})
	}
}

// FO-5: when a client leaves during the long wait for a throttled account, only that throttle remains.
func TestClientLeavesALongWait(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.Throttled("40").Times(1))
		ctx, leave := context.WithCancel(w.Context())
		done := w.Begin(ctx, "s", simtest.PlainModel)
		time.Sleep(20 * time.Second)
		leave()
		<-done
		if calls := w.Calls(0); len(calls) != 1 || w.Last().End != observe.ClientGone || w.State("a").Cooldown != 20*time.Second {
			w.Errorf("calls %v, record %+v, cools down for %v", calls, w.Last(), w.State("a").Cooldown)
		}
	})
}

// FO-6: nothing is sent to the client while shunt waits.
func TestNothingIsSentDuringAWait(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf().keepAlive(2*time.Second), func(w *world) {
		w.Provider.Inject("a", sim.Throttled("40").Times(1))
		var first time.Duration
		began := time.Now()
		ctx := httptrace.WithClientTrace(w.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Since(began) }})
		r := w.Post(ctx, sim.MessagesPath, "s", simtest.Body(simtest.PlainModel, true))
		if r.Status != 200 || r.Err != nil || !simtest.Waited(first, 40*time.Second) {
			w.Errorf("%d %v, the first byte came after %v", r.Status, r.Err, first)
		}
	})
}
