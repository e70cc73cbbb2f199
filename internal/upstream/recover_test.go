package upstream_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// orphan leaves a login beside a store entry, as a process does that is killed before its rename.
func (w *world) orphan(account string, credentials []byte) (path string) {
	w.Helper()
	path = filepath.Join(w.Store, "."+account+".json123456")
	w.Must(os.WriteFile(path, credentials, 0o600))
	return path
}

// TOK-6b: after a kill between write and rename a restart serves with the login that the provider gave out last, without
// having sent the spent one.
func TestRestartAfterAKilledWrite(t *testing.T) {
	var path string
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.MustServe("", simtest.PlainModel)
		w.Want("token", w.Bearer(), w.Provider.Token("a"))
		w.Want("refreshes", len(w.Refreshes()), 0)
		w.WantSaved("a")
		w.Want("conditions", w.Conditions(), "")
		w.Want("warnings", w.Logged("WARN", "recovered the newest login"), 1)
		if _, err := os.Stat(path); err == nil {
			w.Errorf("%s is there", path)
		}
	}, func(w *world) {
		w.Stale("a")
		path = w.orphan("a", w.Provider.Login("a"))
	})
}

// TOK-6b, TOK-7: a login that is recovered while shunt runs ends the cooldown that the old one caused.
func TestRecoveredLoginEndsCooldown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1), TokenLifetime: 8 * time.Minute}, poolOf(), func(w *world) {
		simtest.Second() // the background refreshes so short a token at once
		before := len(w.Refreshes())
		w.Provider.Inject("a", sim.Unauthorized())
		w.Want("status", w.Request("", simtest.PlainModel, true).Status, http.StatusBadGateway)
		w.Want("cooldown", w.State("a").Cooldown, 300*time.Second)
		w.Want("refreshes", len(w.Refreshes()), before+1)
		w.Provider.Clear("a")
		time.Sleep(time.Minute)
		w.orphan("a", simtest.Expiring(w.Provider.Login("a"), time.Hour))
		time.Sleep(3*time.Minute + 10*time.Second)
		w.Want("refreshes", len(w.Refreshes()), before+2)
		w.Want("rests after the recovery", w.State("a").Cooldown, time.Duration(0))
		w.Want("conditions", w.Conditions(), "")
		w.WantSaved("a")
		w.MustServe("", simtest.PlainModel)
		w.Want("token", w.Bearer(), w.Provider.Token("a"))
	}, watchStore)
}
