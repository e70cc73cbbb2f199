package app_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/pool"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// TestADay lives through a working day of coding sessions on accounts that run into their windows, while something goes
// wrong at one account or another every few minutes. As long as an account is available, no session may notice:
// every request has a complete response of its own.
func TestADay(t *testing.T) {
	const day, sessions, turns = 3 * time.Hour, 6, 100
	// Four accounts use up their quota during the day; each of the last two could serve all.
	tight := func(reset time.Duration) sim.Window { return sim.Window{Size: 150_000, ResetIn: reset} }
	vast := sim.Window{Size: 1 << 40}
	accounts := []sim.Account{
		{Name: "a", FiveHour: tight(time.Hour)},
		{Name: "b", FiveHour: tight(2 * time.Hour)},
		{Name: "c", FiveHour: tight(3 * time.Hour)},
		{Name: "d", Fable: tight(0)},
		{Name: "e", FiveHour: vast, Fable: vast},
		{Name: "f", FiveHour: vast, Fable: vast},
	}
	config := sim.Config{
		Accounts: accounts, Seed: 1, Output: sim.Range{Min: 10, Max: 40}, TokenLifetime: 50 * time.Minute, Encodings: []string{"br", "gzip"},
		Pace: sim.Pace{FirstByte: 800 * time.Millisecond, Delta: 150 * time.Millisecond, Chunk: 700},
	}
	inWorld(t, config, apptest.PoolOf("[server]\nsse_keepalive_seconds = 5\n"), func(w *world) {
		var coders, weather sync.WaitGroup
		over := make(chan struct{})
		weather.Go(func() { w.badWeather(over) })
		reports := make([]sim.Report, sessions)
		evening := time.Now().Add(day)
		for i := range reports {
			coder := sim.Session{
				BaseURL: simtest.GatewayURL, Client: w.Client, Seed: uint64(i), Name: fmt.Sprint("coder-", i), FableShare: 0.3, PlainShare: 0.2,
				Burst: sim.Range{Min: 1, Max: 6}, Gap: 4 * time.Second, Think: sim.Pause{Min: 20 * time.Second, Max: 14 * time.Minute},
				Context: 6000, Growth: sim.Range{Min: 20, Max: 300}, Turns: turns,
			}
			coders.Go(func() { reports[i] = coder.Run(w.Context()) })
		}
		coders.Wait()
		close(over)
		weather.Wait()
		if time.Now().Before(evening) {
			w.Errorf("the day was short: %v were left", time.Until(evening))
		}

		moves := 0
		for i, r := range reports {
			if r.Completed != r.Turns || r.Turns != turns {
				w.Errorf("session %d: %d of %d turns completed, failed %v, truncated %d, damaged %d, unreachable %d: %v", i, r.Completed, r.Turns, r.Failed, r.Truncated, r.Damaged, r.Unreachable, r.Errors)
			}
			moves += r.Moves
		}
		synctest.Wait()
		w.checkTheDay(moves)
	})
}

// badWeather makes something go wrong at one account at a time until the day is over.
func (w *world) badWeather(over <-chan struct{}) {
	r := rand.New(rand.NewPCG(7, 7))
	names := w.Provider.Accounts()
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(60+r.IntN(240)) * time.Second):
		}
		for _, name := range names { // no fault outlasts its time
			w.Provider.Clear(name)
		}
		name := names[r.IntN(len(names))]
		troubles := simtest.Faults(
			sim.Overloaded().Times(2), sim.ServerError(500).Times(2), sim.ServerError(503).Encoded("gzip").Times(1), sim.ResetConnection().Times(1),
			sim.ResetConnection().Times(4), sim.Unauthorized().Times(1), sim.Unauthorized().Times(3), sim.Throttled("3").Times(1), sim.Throttled("").Times(1),
			sim.Throttled("40").Times(1), sim.Rejected(messages.FiveHour).RetryAfter("120").Times(1), sim.Rejected(messages.Fable).Model("fable").RetryAfter("90").Times(1),
			sim.ErrorStream(messages.TypeOverloaded).Times(1), sim.Abort(3).Times(1), sim.Truncate(6).Times(1), sim.SlowHeaders(70*time.Second).Times(2),
			sim.SlowFirstEvent(20*time.Second).Times(1), sim.Encoded("zstd").Times(2),
		)
		switch i := r.IntN(len(troubles) + 2); i {
		case len(troubles):
			w.Provider.ExpireTokens(name)
		case len(troubles) + 1:
			w.Put(name, w.Provider.Login(name)) // a new login
		default:
			w.Provider.Inject(name, troubles[i])
		}
	}
}

// checkTheDay looks at what the day left behind.
func (w *world) checkTheDay(moves int) {
	for _, name := range w.Provider.Accounts() {
		if c := w.Provider.Counters(name); c.ByStatus[200] == 0 || c.Refreshes == 0 {
			w.Errorf("%s: %+v", name, c)
		}
		w.Provider.Clear(name)
	}
	reasons := strings.Join(w.Moves(), "\n")
	for _, reason := range []string{"near_quota", "failover", "cooled", "returned"} {
		if !strings.Contains(reasons, reason) {
			w.Errorf("no session moved for the reason %s", reason)
		}
	}
	if moves > 200 {
		w.Errorf("%d moves", moves)
	}
	if open := w.Upstream.Open(); open > 20 {
		w.Errorf("%d connections are open", open)
	}
	// Without faults, every account recovers.
	time.Sleep(6 * time.Minute)
	for range 2 * len(w.Provider.Accounts()) {
		w.MustServe("", simtest.PlainModel)
	}
	for _, s := range w.App.Pool("anthropic") {
		if !s.Available && s.Cause.Event != pool.Rejected { // a window may be full still
			w.Errorf("%s is still not available: %v", s.Name, s.Cause)
		}
	}
	for _, c := range w.App.Conditions() {
		if strings.Contains(c.Name, "login") {
			w.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}
