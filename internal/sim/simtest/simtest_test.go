package simtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The world has a provider that accepts the logins of its store, and a client that checks responses.
func TestWorld(t *testing.T) {
	simtest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, func(w *simtest.World) {
		r := w.Direct(sim.MessagesPath, simtest.With(simtest.Session("s-1"), "Anthropic-Beta", "oauth-2025-04-20"), simtest.Body(simtest.PlainModel, false))
		w.Want("status", r.Status, http.StatusOK)
		w.Want("token", w.Bearer(), w.LoginIn(w.Entry("a")).AccessToken)
		w.Want("session", w.Received().Header.Get("X-Claude-Code-Session-Id"), "s-1")
		w.WantSaved("b")
		if w.Seen() != 1 || len(w.Calls(0)) != 1 {
			t.Errorf("%d requests, calls %v", w.Seen(), w.Calls(0))
		}
	})
}

// The client reports a response that does not belong to its request.
func TestForeignResponse(t *testing.T) {
	simtest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, func(w *simtest.World) {
		other := w.Direct(sim.MessagesPath, simtest.With(simtest.Minimal, "Anthropic-Beta", "oauth-2025-04-20"), simtest.Body(simtest.FableModel, false)).Body
		server := sim.Serve(w.Front, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write([]byte(other))
		}))
		defer server.Close()
		if r := w.Request("", simtest.PlainModel, false); r.Err == nil {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		w.Client.CloseIdleConnections()
	})
}

// A script sends its steps at their times.
func TestScript(t *testing.T) {
	simtest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, func(w *simtest.World) {
		w.Provider.Inject("a", simtest.Script(simtest.PingEvent, time.Minute, simtest.ErrorEvent))
		began := time.Now()
		r := w.Direct(sim.MessagesPath, simtest.With(simtest.Minimal, "Anthropic-Beta", "oauth-2025-04-20"), simtest.Body(simtest.PlainModel, true))
		w.Want("body", r.Body, simtest.PingEvent+simtest.ErrorEvent)
		w.Want("time", time.Since(began), time.Minute)
	})
}

// The changes of credentials keep the rest of the file.
func TestEdited(t *testing.T) {
	const file = `{"claudeAiOauth":{"accessToken":"a"},"x":1}`
	got := string(simtest.Owned(simtest.Expiring([]byte(file), time.Hour), "u", "o"))
	for _, part := range []string{`"accessToken":"a"`, `"expiresAt":`, `"shuntAccountUuid":"u"`, `"shuntOrganizationUuid":"o"`, `"x":1`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s lacks %s", got, part)
		}
	}
	if !simtest.Waited(11*time.Second, 10*time.Second) || simtest.Waited(9*time.Second, 10*time.Second) || simtest.Waited(13*time.Second, 10*time.Second) {
		t.Error("a wait is up to a fifth longer than it says")
	}
}
