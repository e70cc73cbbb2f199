package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/app"
	"shunt/internal/apptest"
	"shunt/internal/config"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// another starts a second shunt on the same store and provider; requests on its client reach that one. It ends before
// the world does.
func (w *world) another() (a *app.App, client *http.Client, end func()) {
	w.Helper()
	cfg, _, err := config.Load(config.Options{Path: w.File, Env: w.Env, Families: app.Families()})
	w.Must(err)
	a, err = app.New(cfg, app.Options{
		Version: "test", Env: w.Env, Log: slog.New(slog.NewTextHandler(w.Log, nil)), Dial: w.Upstream.Dial,
	})
	w.Must(err)
	front := sim.Listen("127.0.0.1:3001")
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, front, nil) }()
	transport := &http.Transport{DialContext: front.Dial, DisableCompression: true}
	return a, &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		stop()
		w.Must(<-ended)
	}
}

// TOK-4, TOK-7b: two processes with one store refresh each token once between them, and use what the other one got.
func TestTwoProcessesShareAStore(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3), TokenLifetime: 24 * time.Minute}, apptest.PoolOf(""), func(w *world) {
		other, client, end := w.another()
		defer end()
		mine := w.Client
		var clients sync.WaitGroup
		for i := range 60 {
			for _, c := range []*http.Client{mine, client} {
				clients.Go(func() {
					if i%4 == 3 { // in the other rounds the background has to keep up
						w.Provider.ExpireTokens("a")
					}
					r := w.PostWith(w.Context(), c, sim.MessagesPath, "", simtest.Body(simtest.PlainModel, true))
					if r.Status != 200 || r.Err != nil {
						w.Errorf("%d, %v: %s", r.Status, r.Err, r.Body)
					}
				})
			}
			time.Sleep(time.Minute)
		}
		clients.Wait()
		for _, r := range w.Provider.Requests() {
			if r.Path == sim.TokenPath && r.Status != http.StatusOK {
				w.Errorf("the token endpoint responded with %d", r.Status)
			}
		}
		for _, name := range w.Provider.Accounts() {
			w.WantSaved(name)
			w.Want("cooldown", w.State(name).Cooldown, time.Duration(0))
		}
		w.Want("conditions", w.Conditions(), "")
		w.Want("conditions of the other", len(other.Conditions()), 0)
	}, func(w *world) {
		for _, name := range w.Provider.Accounts() {
			w.Stale(name)
		}
	})
}

// TOK-5: a process that ends during its refresh saves the login for the next one.
func TestProcessesFollowEachOther(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		time.Sleep(4 * time.Second)
		w.Want("refreshes", len(w.Refreshes()), 1)
		_, client, end := w.another()
		defer end()
		waiting := make(chan simtest.Reply, 1)
		go func() {
			waiting <- w.PostWith(w.Context(), client, sim.MessagesPath, "", simtest.Body(simtest.PlainModel, true))
		}()
		synctest.Wait()
		if err := w.Stop(); err != nil {
			w.Errorf("run: %v", err)
		}
		r := <-waiting
		w.Want("status", r.Status, http.StatusOK)
		w.Want("refreshes", len(w.Refreshes()), 1)
		w.WantSaved("a")
	}, func(w *world) {
		w.Stale("a")
		w.Provider.Inject("a", sim.SlowRefresh(20*time.Second))
	})
}

// TOK-4: a second process that holds the lock for as long as a refresh may take and gets no response delays this one's own refresh,
// not its requests.
func TestLockOfADeadProcess(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
		for range 2 {
			r := w.Request("", simtest.PlainModel, true)
			w.Want("served by", r.Account, "b")
			if r.Took > 31*time.Second {
				w.Errorf("waited %v", r.Took)
			}
		}
		if got := w.Conditions(); !strings.Contains(got, "a cannot be refreshed") {
			w.Errorf("conditions: %s", got)
		}
		w.Want("refreshes", len(w.Refreshes()), 0)
	}, func(w *world) {
		w.Stale("a")
		w.Cleanup(w.Lock("a"))
	})
}
