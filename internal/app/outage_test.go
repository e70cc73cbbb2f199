package app_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
)

// together sends n requests at once and returns their responses.
func (w *world) together(n int) []reply {
	w.Helper()
	responses := make([]<-chan reply, n)
	for i := range responses {
		responses[i] = w.start(w.Context(), "")
	}
	replies := make([]reply, n)
	for i, response := range responses {
		replies[i] = <-response
	}
	return replies
}

// TOK-9: a provider that refuses every token does not get a storm of refreshes: one for each identity within ten minutes,
// however many requests come, also where an account is listed twice. What follows its recovery is as before.
func TestUnauthorizedOutage(t *testing.T) {
	for name, toml := range map[string]string{
		"store": poolOf(""),
		"alias": poolOf(listed("a", `uuid = "u-1"`) + listed("b") + listed("copy", `uuid = "u-1"`, `credentials = "~/copy.json"`)),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, toml, func(w *world) {
				w.mustServe("", plainModel)
				w.provider.Inject("a", sim.Unauthorized())
				w.provider.Inject("b", sim.Unauthorized())
				for range 4 {
					for _, r := range w.together(20) {
						w.wants("status", r.status, http.StatusBadGateway)
					}
					time.Sleep(2 * time.Minute)
				}
				w.wants("refreshes in ten minutes", len(w.refreshes()), 2)

				time.Sleep(2*time.Minute + time.Second)
				w.together(20)
				w.wants("refreshes after ten minutes", len(w.refreshes()), 4)

				w.provider.Clear("a")
				w.provider.Clear("b")
				time.Sleep(5 * time.Minute)
				w.mustServe("", plainModel)
				w.mustServe("", plainModel)
				w.provider.ExpireTokens("a")
				w.provider.ExpireTokens("b")
				for _, r := range w.together(20) {
					w.wants("status after the outage", r.status, http.StatusOK)
				}
				w.wants("refreshes after the outage", len(w.refreshes()), 6)
			}, func(w *world) {
				w.replace(w.at("copy.json"), w.provider.Credentials("a"))
			})
		})
	}
}

// TOK-1b: a request whose token has not expired waits a second for a refresh, which continues: for a slow token endpoint, and
// for a lock that another process holds.
func TestUnexpiredTokenHardlyWaits(t *testing.T) {
	var unlock func()
	for name, prepare := range map[string]func(w *world){
		"slow endpoint": func(w *world) {
			w.provider.Inject("a", sim.SlowRefresh(25*time.Second))
			unlock = func() {}
		},
		"lock": func(w *world) { unlock = w.lock("a") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
				old := w.loginIn(w.entry("a"))
				w.watch(func(r *http.Request) {
					if r.URL.Path == sim.MessagesPath {
						w.wants("token", r.Header.Get("Authorization"), "Bearer "+old.AccessToken)
					}
				})
				for range 5 {
					r := w.ask("", plainModel, true)
					w.wants("took", r.took, time.Second)
				}
				w.watch(nil)
				unlock()
				time.Sleep(25 * time.Second)
				synctest.Wait()
				w.saved("a")
				w.wants("refreshes", len(w.refreshes()), 1)
				w.mustServe("", plainModel)
			}, func(w *world) { w.put("a", expiring(w.provider.Credentials("a"), 4*time.Minute)) }, prepare)
		})
	}
}
