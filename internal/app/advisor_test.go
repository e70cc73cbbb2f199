package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
)

// SEL-4b: a 429 that rejects only the Fable week of a request with a Fable advisor among its tools sets the Fable cooldown,
// not the account-wide one: the session's next request with an advisor goes elsewhere at once, one without it goes home.
func TestFableAdvisor(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		home := w.mustServe("s", plainModel)
		body := strings.Replace(bodyFor(plainModel, false), "{", `{"tools":[{"type":"advisor","name":"advisor","model":"`+fableModel+`"}],`, 1)
		advised := func() string {
			w.Helper()
			got := w.send(sim.MessagesPath, with(minimal, "X-Claude-Code-Session-Id", "s"), body)
			w.wants("status", got.status, http.StatusOK)
			return got.header.Get("X-Shunt-Account")
		}

		w.provider.Inject(home, sim.Rejected(messages.Fable).Times(1))
		other := advised()
		if s := w.state(home); other == home || s.Cooldown != 0 || s.In(claude.FableScope).Cooldown == 0 {
			w.Errorf("served by %s; home cools down for %v, for Fable for %v", other, s.Cooldown, s.In(claude.FableScope).Cooldown)
		}
		time.Sleep(time.Second)
		before := w.seen()
		w.wants("with an advisor", advised(), other)
		w.wants("without one", w.mustServe("s", plainModel), home)
		w.wants("requests upstream", slices.Equal(w.calls(before), []string{other, home}), true)
	})
}
