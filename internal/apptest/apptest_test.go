package apptest_test

import (
	"log/slog"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world serves requests with the accounts of its store, and with another configuration after a reload.
func TestRun(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.Planned("", apptest.Listed("a")), func(w *apptest.World) {
		w.Want("account", w.MustServe("s-1", simtest.PlainModel), "a")
		w.Reload(apptest.PoolOf(apptest.Listed("b", "priority = 1")))
		w.Want("account after a reload", w.MustServe("s-1", simtest.PlainModel), "b")
		w.Must(w.Stop())
	})
}

// A shunt on a socket of its own serves until it is stopped.
func TestStart(t *testing.T) {
	provider := sim.New(sim.Config{Accounts: simtest.Accounts(1)})
	server, err := sim.Start(provider)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address, stop := apptest.Start(t, "[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \""+server.URL+"\"\n",
		slog.New(slog.DiscardHandler), apptest.StoreOf(t, provider))
	response, err := http.Get("http://" + address + "/health")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status %d", response.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if _, err := http.Get("http://" + address + "/health"); err == nil {
		t.Error("it serves after it was stopped")
	}
}
