package upstream_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// FO-14: a failed response whose body never ends delays the request for a moment only.
func TestStalledFailures(t *testing.T) {
	for _, status := range []int{500, 529, 401, 429} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			home := w.MustServe("s", simtest.PlainModel)
			w.Provider.Inject(home, simtest.Stall(status).Times(2))
			r := w.Request("s", simtest.PlainModel, true)
			if status == 429 {
				if r.Status != 429 || r.Account != home || r.Took > 6*time.Second {
					w.Errorf("429: %d by %q after %v", r.Status, r.Account, r.Took)
				}
				return
			}
			if r.Status != 200 || r.Err != nil || r.Account == home || r.Took > 5*time.Second {
				w.Errorf("%d: %d by %q after %v, %v", status, r.Status, r.Account, r.Took, r.Err)
			}
		})
	}
	// A 403 is read before it is relayed: that must not take long either.
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		w.Provider.Inject("", simtest.Stall(403).Times(1))
		r := w.Request("s", simtest.PlainModel, true)
		if r.Status != 403 || r.Took > 5*time.Second {
			w.Errorf("403: %d after %v", r.Status, r.Took)
		}
	})
}

// The table and CFG [server.timeouts]: 504 when no headers come in time, streamed and not, each with its own time; 0
// is no limit.
func TestFirstByteTimeouts(t *testing.T) {
	for _, c := range []struct {
		ttfb   time.Duration
		stream bool
		slow   time.Duration
		status int
		took   time.Duration
	}{
		{2 * time.Minute, true, 119 * time.Second, 200, 119 * time.Second},
		{2 * time.Minute, true, 121 * time.Second, 504, 120 * time.Second},
		{2 * time.Minute, false, 599 * time.Second, 200, 599 * time.Second},
		{2 * time.Minute, false, 601 * time.Second, 504, 600 * time.Second},
		{1500 * time.Millisecond, true, 2 * time.Second, 504, 1500 * time.Millisecond},
		{0, true, 9 * time.Minute, 200, 9 * time.Minute},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf().ttfb(c.ttfb), func(w *world) {
			w.Provider.Inject("", sim.SlowHeaders(c.slow).Times(1))
			r := w.Request("s", simtest.PlainModel, c.stream)
			if r.Status != c.status || r.Took != c.took || len(w.Calls(0)) != 1 {
				w.Errorf("%+v: %d after %v, %d calls", c, r.Status, r.Took, len(w.Calls(0)))
			}
			if c.status != 504 {
				return
			}
			if kind, _, _ := messages.ParseError([]byte(r.Body)); kind != messages.TypeTimeout || r.Account != "" || r.Header["X-Gateway-Upstream"] != nil {
				w.Errorf("%v %s", r.Header, r.Body)
			}
			for _, s := range w.Tested.Pool("anthropic") {
				if s.Cooldown != 0 {
					w.Errorf("%s cools down for %v", s.Name, s.Cooldown)
				}
			}
			if got := w.Provider.Requests()[0].Outcome; got != sim.Canceled {
				w.Errorf("the provider's request ended %q", got)
			}
		})
	}
}

// The same: the time counts from the request being written. A provider that reads it slowly has time; one that stops
// reading is as late as one that does not respond.
func TestSlowUploads(t *testing.T) {
	large := strings.Replace(simtest.Body(simtest.PlainModel, true), `"hi"`, `"`+strings.Repeat("x", 1<<20)+`"`, 1)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		w.Watch(func(r *http.Request) {
			var body bytes.Buffer
			for {
				if _, err := io.CopyN(&body, r.Body, 256<<10); err != nil {
					break
				}
				time.Sleep(100 * time.Second)
			}
			r.Body = io.NopCloser(&body)
		})
		if r := w.Post(w.Context(), sim.MessagesPath, "s", large); r.Status != 200 || r.Err != nil || r.Took < 300*time.Second {
			w.Errorf("slow: %d after %v, %v", r.Status, r.Took, r.Err)
		}
		stuck := make(chan struct{})
		w.Watch(func(r *http.Request) {
			io.CopyN(io.Discard, r.Body, 1000)
			<-stuck
		})
		r := w.Post(w.Context(), sim.MessagesPath, "s", large)
		w.Watch(nil)
		close(stuck)
		if r.Status != 504 || r.Took != 120*time.Second {
			w.Errorf("stuck: %d after %v", r.Status, r.Took)
		}
	})
}

// FO-14: a thousand rotations, after failures that are short, long and broken, leave no connection, no goroutine and no
// memory behind.
func TestRotationsLeakNothing(t *testing.T) {
	const accounts, rounds = 3, 100 // a rotation a request at least (FO-0c, FO-15), ten requests a round
	long := sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(500)
		io.WriteString(rw, strings.Repeat("x", 1<<20+1))
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(accounts)}, poolOf(), func(w *world) {
		short := simtest.Faults(sim.Overloaded(), sim.ErrorStream(messages.TypeOverloaded), sim.ServerError(500).Encoded("gzip"))
		round := func(i int) {
			for n := range 10 {
				fault := short[n%len(short)]
				switch {
				case n == 9:
					fault = sim.ResetConnection()
				case n == 8 && i%10 == 0:
					fault = long
				}
				w.Provider.Inject("", fault)
				w.Request(fmt.Sprint("s", n), simtest.PlainModel, n%2 == 0)
				w.Provider.Clear("")
			}
		}
		memory := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		for i := range 10 { // the recorders fill up
			round(i)
		}
		synctest.Wait()
		goroutines, heap := runtime.NumGoroutine(), memory()
		for i := 10; i < rounds; i++ {
			round(i)
		}
		synctest.Wait()
		rotations := uint64(0)
		for _, s := range w.Tested.Pool("anthropic") {
			rotations += s.Rotations
		}
		if rotations < rounds*10 {
			w.Errorf("%d rotations", rotations)
		}
		if open := w.Upstream.Open(); open > 2 {
			w.Errorf("%d connections are open, %d were dialled", open, w.Upstream.Dials())
		}
		if now := runtime.NumGoroutine(); now > goroutines+4 {
			w.Errorf("%d goroutines, %d at first", now, goroutines)
		}
		if now := memory(); now > heap+32<<20 {
			w.Errorf("%d MiB, %d at first", now>>20, heap>>20)
		}
	})
}
