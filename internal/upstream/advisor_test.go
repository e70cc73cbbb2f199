package upstream_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// SEL-4b: a 429 that rejects only the Fable week of a request with a Fable advisor among its tools sets the Fable cooldown,
// not the account-wide one: the session's next request with an advisor goes to another account at once, one without it goes home.
func TestFableAdvisor(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		body := strings.Replace(simtest.Body(simtest.PlainModel, false), "{", `{"tools":[{"type":"advisor","name":"advisor","model":"`+simtest.FableModel+`"}],`, 1)
		advised := func() string {
			w.Helper()
			got := w.Send(sim.MessagesPath, simtest.Session("s"), body)
			w.Want("status", got.Status, http.StatusOK)
			return got.Header.Get("X-Shunt-Account")
		}

		w.Provider.Inject(home, sim.Rejected(messages.Fable).Times(1))
		other := advised()
		if s := w.State(home); other == home || s.Cooldown != 0 || s.In(claude.FableScope).Cooldown == 0 {
			w.Errorf("served by %s; home cools down for %v, for Fable for %v", other, s.Cooldown, s.In(claude.FableScope).Cooldown)
		}
		time.Sleep(time.Second)
		before := w.Seen()
		w.Want("with an advisor", advised(), other)
		w.Want("without one", w.MustServe("s", simtest.PlainModel), home)
		w.Want("requests upstream", slices.Equal(w.Calls(before), []string{other, home}), true)
	})
}
