package upstream_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// together sends n requests at once and returns their responses.
func (w *world) together(n int) []simtest.Reply {
	w.Helper()
	responses := make([]<-chan simtest.Reply, n)
	for i := range responses {
		responses[i] = w.Begin(w.Context(), "", simtest.PlainModel)
	}
	replies := make([]simtest.Reply, n)
	for i, response := range responses {
		replies[i] = <-response
	}
	return replies
}

// TOK-9: a provider that refuses every token receives one refresh for each identity within ten minutes, however many
// requests there are, even if an account is listed twice. After its recovery, all is as before.
func TestUnauthorizedOutage(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "copy.json")
	for name, setup := range map[string]setup{
		"store": poolOf(),
		"alias": poolOf(
			known("a", "u-1"), named("b"),
			member{Spec: account.Spec{Name: "copy", UUID: "u-1", Credentials: copied}},
		),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, setup, func(w *world) {
				w.MustServe("", simtest.PlainModel)
				w.Provider.Inject("a", sim.Unauthorized())
				w.Provider.Inject("b", sim.Unauthorized())
				for range 4 {
					for _, r := range w.together(20) {
						w.Want("status", r.Status, http.StatusBadGateway)
					}
					time.Sleep(2 * time.Minute)
				}
				w.Want("refreshes in ten minutes", len(w.Refreshes()), 2)

				time.Sleep(2*time.Minute + time.Second)
				w.together(20)
				w.Want("refreshes after ten minutes", len(w.Refreshes()), 4)

				w.Provider.Clear("a")
				w.Provider.Clear("b")
				time.Sleep(5 * time.Minute)
				w.MustServe("", simtest.PlainModel)
				w.MustServe("", simtest.PlainModel)
				w.Provider.ExpireTokens("a")
				w.Provider.ExpireTokens("b")
				for _, r := range w.together(20) {
					w.Want("status after the outage", r.Status, http.StatusOK)
				}
				w.Want("refreshes after the outage", len(w.Refreshes()), 6)
			}, func(w *world) {
				w.Replace(copied, w.Provider.Credentials("a"))
			})
		})
	}
}

// TOK-1b: a request whose token has not expired waits a second for a refresh, which then continues: if the token endpoint is
// slow, and if another process has the lock.
func TestUnexpiredTokenHardlyWaits(t *testing.T) {
	var unlock func()
	for name, prepare := range map[string]func(w *world){
		"slow endpoint": func(w *world) {
			w.Provider.Inject("a", sim.SlowRefresh(25*time.Second))
			unlock = func() {}
		},
		"lock": func(w *world) { unlock = w.Lock("a") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
				old := w.LoginIn(w.Entry("a"))
				w.Watch(func(r *http.Request) {
					if r.URL.Path == sim.MessagesPath {
						w.Want("token", r.Header.Get("Authorization"), "Bearer "+old.AccessToken)
					}
				})
				for range 5 {
					r := w.Request("", simtest.PlainModel, true)
					w.Want("took", r.Took, time.Second)
				}
				w.Watch(nil)
				unlock()
				time.Sleep(25 * time.Second)
				synctest.Wait()
				w.WantSaved("a")
				w.Want("refreshes", len(w.Refreshes()), 1)
				w.MustServe("", simtest.PlainModel)
			}, func(w *world) { w.Put("a", simtest.Expiring(w.Provider.Credentials("a"), 4*time.Minute)) }, prepare)
		})
	}
}
