package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// SEL-2: without a session, or with a blank one, accounts take turns; requests of sessions and second attempts take no turn.
func TestTurns(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(named("a"), disabled("b"), named("c")), func(w *world) {
		var got []string
		for i := range 6 {
			header := simtest.With(simtest.Minimal, "X-Claude-Code-Session-Id", " \t"[:i%3])
			path := []string{sim.MessagesPath, sim.CountTokensPath}[i%2]
			got = append(got, w.Send(path, header, simtest.Body(simtest.PlainModel, false)).Header.Get("X-Shunt-Account"))
			w.MustServe("s", simtest.PlainModel)
		}
		if want := []string{"a", "c", "a", "c", "a", "c"}; !slices.Equal(got, want) {
			w.Errorf("turns %v", got)
		}
		w.Provider.Inject("a", sim.Overloaded().Times(1))
		if first, second := w.MustServe("", simtest.PlainModel), w.MustServe("", simtest.PlainModel); first != "c" || second != "c" {
			w.Errorf("after a failure: %s, %s", first, second)
		}
		if moves := w.Moves(); len(moves) != 0 {
			w.Errorf("moves %v", moves)
		}
	})
}

// SEL-3, SEL-6, SEL-2b, SEL-30: a session leaves its account before its quota is used up, without any failure, stays where it
// went although others would come first by now, and returns when the window has reset.
func TestSessionLeavesBeforeTheQuotaIsUsedUp(t *testing.T) {
	soon := sim.Window{ResetIn: 30 * time.Minute}
	accounts := []sim.Account{{Name: "a", FiveHour: soon}, {Name: "b"}, {Name: "c"}}
	inWorld(t, sim.Config{Accounts: accounts}, poolOf(), func(w *world) {
		session := w.SessionAt("a")
		w.Provider.Fill("a", messages.FiveHour, 0.9798)
		for range 3 {
			if got := w.MustServe(session, simtest.PlainModel); got != "a" {
				w.Fatalf("below the threshold it went to %s", got)
			}
		}
		w.Provider.Fill("a", messages.FiveHour, 0.98)
		w.MustServe(session, simtest.PlainModel) // whose response reports it
		refuge := w.MustServe(session, simtest.PlainModel)
		if refuge == "a" {
			w.Fatal("it stayed")
		}
		r := w.Last()
		if diff := cmp.Diff(&observe.Move{From: "a", To: refuge, Reason: "near_quota"}, r.Move); diff != "" || r.Attempts != 1 || r.Why != "near_quota" {
			w.Errorf("record %+v: %s", r, diff)
		}
		for range 5 {
			if got := w.MustServe(session, simtest.PlainModel); got != refuge {
				w.Errorf("it hopped from %s to %s", refuge, got)
			}
		}
		if r := w.Last(); r.Why != string(pool.LastServed) || r.Move != nil {
			w.Errorf("record %+v", r)
		}
		time.Sleep(31 * time.Minute)
		if got := w.MustServe(session, simtest.PlainModel); got != "a" {
			w.Errorf("after the reset it is at %s", got)
		}
		if got, want := w.Moves(), []string{"a>" + refuge + " near_quota", refuge + ">a returned"}; !slices.Equal(got, want) {
			w.Errorf("moves %q", got)
		}
		if strings.Contains(w.Log.String(), session) {
			w.Error("the session's id is in the log") // AUTH-2b
		}
		for _, r := range w.Provider.Requests() {
			if r.Status != 200 {
				w.Errorf("a response has status %d", r.Status)
			}
		}
	})
}

// SEL-10, SEL-11: when all accounts are near their quota, all still serve. FO-15: when all cool down, the session's own account
// is tried first, then the one that recovers first, and no other.
func TestAllNearOrCooled(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		for i, name := range w.Provider.Accounts() {
			w.Provider.Fill(name, messages.SevenDay, 0.981+float64(i)/1000)
			w.MustServe("", simtest.PlainModel)
		}
		served := map[string]int{}
		for i := range 60 {
			served[w.MustServe(fmt.Sprint("s", i), simtest.PlainModel)]++
		}
		if len(served) != 3 {
			w.Errorf("sessions of a pool near its quota all land on one account: %v", served)
		}
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		for name, after := range map[string]string{"a": "300", "b": "100", "c": "200"} {
			w.Provider.Inject(name, sim.Rejected(messages.SevenDay).RetryAfter(after))
		}
		if r := w.Request("", simtest.PlainModel, true); r.Status != 429 {
			w.Fatalf("%d", r.Status)
		}
		before := w.Seen()
		w.Request("s", simtest.PlainModel, true)
		if home := w.Home("s"); home == "b" {
			w.Fatal("the session's own recovers first")
		} else if calls := w.Calls(before); !slices.Equal(calls, []string{home, "b"}) {
			w.Errorf("requests to %v", calls)
		}
	})
}

// RTE-4: count_tokens goes through the same pool: to the session's account, and to the next if that fails.
func TestCountTokens(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		header := simtest.Session("s")
		home := w.MustServe("s", simtest.PlainModel)
		for range 3 {
			got := w.Send(sim.CountTokensPath, header, simtest.Body(simtest.PlainModel, false))
			if got.Status != 200 || got.Header.Get("X-Shunt-Account") != home || !strings.HasPrefix(got.Body, `{"input_tokens":`) {
				w.Errorf("%d by %s: %s", got.Status, got.Header.Get("X-Shunt-Account"), got.Body)
			}
		}
		w.Provider.Inject(home, sim.Rejected(messages.FiveHour).Times(1))
		got := w.Send(sim.CountTokensPath, header, simtest.Body(simtest.PlainModel, false))
		if other := got.Header.Get("X-Shunt-Account"); got.Status != 200 || other == home || w.State(home).Cooldown != 0 {
			w.Errorf("%d by %s, home cools down for %v", got.Status, other, w.State(home).Cooldown)
		}
		if r := w.Last(); r.Path != sim.CountTokensPath || r.Attempts != 2 {
			w.Errorf("record %+v", r)
		}
	})
}

// SEL-30: every move is logged once, with its reason, even if several requests of the session are in flight.
func TestMovesAreLogged(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		session := w.SessionAt("a")
		w.Provider.Inject("a", sim.ServerError(500).Times(1))
		w.MustServe(session, simtest.PlainModel) // failover
		time.Sleep(40 * time.Second)
		w.MustServe(session, simtest.PlainModel) // returned
		w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("60").Times(1))
		w.MustServe(w.OtherSession(session, "a"), simtest.PlainModel) // another session is rejected
		before := len(w.Moves())

		w.Provider.Inject("b", sim.SlowHeaders(5*time.Second).Times(3))
		var side []<-chan simtest.Reply
		for range 3 {
			side = append(side, w.Begin(context.Background(), session, simtest.PlainModel))
		}
		for _, c := range side {
			if r := <-c; r.Status != http.StatusOK || r.Account != "b" {
				w.Errorf("%d by %s", r.Status, r.Account)
			}
		}
		moves := w.Moves()
		if want := []string{"a>b failover", "b>a returned"}; !slices.Equal(moves[:2], want) {
			w.Errorf("moves %q", moves)
		}
		if want := []string{"a>b cooled"}; !slices.Equal(moves[before:], want) {
			w.Errorf("three at once: moves %q", moves[before:])
		}
	})
}

// The Fable week moves Fable requests of a session only: its other requests stay at home (SEL-4).
func TestNearTheFableWeek(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		home := w.MustServe("s", simtest.FableModel)
		w.Provider.Fill(home, messages.Fable, 0.985)
		w.MustServe("s", simtest.FableModel)
		if got := w.MustServe("s", simtest.FableModel); got == home {
			w.Error("Fable stayed")
		}
		if got := w.MustServe("s", simtest.PlainModel); got != home {
			w.Error("another model left as well")
		}
		for _, r := range w.Provider.Requests() {
			if r.Status != 200 {
				w.Errorf("a response has status %d", r.Status)
			}
		}
	})
}
