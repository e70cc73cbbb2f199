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
	"shunt/internal/config"
	"shunt/internal/sim"
)

// another starts a second shunt on the same store and provider; requests on its client reach that one. It ends before
// the world does.
func (w *world) another() (a *app.App, client *http.Client, end func()) {
	w.Helper()
	cfg, _, err := config.Load(config.Options{Path: w.file, Env: w.env, Families: app.Families()})
	w.must(err)
	a, err = app.New(cfg, app.Options{
		Version: "test", Env: w.env, Log: slog.New(slog.NewTextHandler(w.log, nil)), Dial: w.upstream.Dial,
	})
	w.must(err)
	front := sim.Listen("127.0.0.1:3001")
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, front, nil) }()
	transport := &http.Transport{DialContext: front.Dial, DisableCompression: true}
	return a, &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		stop()
		w.must(<-ended)
	}
}

// TOK-4, TOK-7b: two processes with one store refresh each token once between them, and use what the other one got.
func TestTwoProcessesShareAStore(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(3), TokenLifetime: 24 * time.Minute}, poolOf(""), func(w *world) {
		other, client, end := w.another()
		defer end()
		mine := w.client
		var clients sync.WaitGroup
		for i := range 60 {
			for _, c := range []*http.Client{mine, client} {
				clients.Go(func() {
					if i%4 == 3 { // in the other rounds the background has to keep up
						w.provider.ExpireTokens("a")
					}
					r := w.postWith(w.Context(), c, sim.MessagesPath, "", bodyFor(plainModel, true))
					if r.status != 200 || r.err != nil {
						w.Errorf("%d, %v: %s", r.status, r.err, r.body)
					}
				})
			}
			time.Sleep(time.Minute)
		}
		clients.Wait()
		for _, r := range w.provider.Requests() {
			if r.Path == sim.TokenPath && r.Status != http.StatusOK {
				w.Errorf("the token endpoint answered %d", r.Status)
			}
		}
		for _, name := range w.provider.Accounts() {
			w.saved(name)
			w.wants("rests", w.state(name).Cooldown, time.Duration(0))
		}
		w.wants("conditions", w.conditions(), "")
		w.wants("conditions of the other", len(other.Conditions()), 0)
	}, func(w *world) {
		for _, name := range w.provider.Accounts() {
			w.stale(name)
		}
	})
}

// TOK-5: a process that ends during its refresh hands the login on: whoever comes next finds it.
func TestProcessesFollowEachOther(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		time.Sleep(4 * time.Second)
		w.wants("refreshes", len(w.refreshes()), 1)
		_, client, end := w.another()
		defer end()
		waiting := make(chan reply, 1)
		go func() { waiting <- w.postWith(w.Context(), client, sim.MessagesPath, "", bodyFor(plainModel, true)) }()
		synctest.Wait()
		if err := w.end(); err != nil {
			w.Errorf("run: %v", err)
		}
		r := <-waiting
		w.wants("status", r.status, http.StatusOK)
		w.wants("refreshes", len(w.refreshes()), 1)
		w.saved("a")
	}, func(w *world) {
		w.stale("a")
		w.provider.Inject("a", sim.SlowRefresh(20*time.Second))
	})
}

// TOK-4: a second process that holds the lock for as long as a refresh may take and gets no answer costs this one its
// own refresh, not its patience.
func TestLockOfADeadProcess(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		for range 2 {
			r := w.ask("", plainModel, true)
			w.wants("served by", r.account, "b")
			if r.took > 31*time.Second {
				w.Errorf("waited %v", r.took)
			}
		}
		if got := w.conditions(); !strings.Contains(got, "a cannot be refreshed") {
			w.Errorf("conditions: %s", got)
		}
		w.wants("refreshes", len(w.refreshes()), 0)
	}, func(w *world) {
		w.stale("a")
		w.Cleanup(w.lock("a"))
	})
}
