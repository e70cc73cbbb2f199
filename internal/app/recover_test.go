package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"shunt/internal/sim"
)

// orphan leaves a login beside a store entry as a process does that is killed before its rename.
func (w *world) orphan(account string, credentials []byte) (path string) {
	w.Helper()
	path = filepath.Join(w.store, "."+account+".json123456")
	w.must(os.WriteFile(path, credentials, 0o600))
	return path
}

// TOK-6b: after a kill between write and rename a restart serves with the login that the provider gave out last, without
// having sent the spent one.
func TestRestartAfterAKilledWrite(t *testing.T) {
	var path string
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.mustServe("", plainModel)
		w.wants("token", w.bearer(), w.provider.Token("a"))
		w.wants("refreshes", len(w.refreshes()), 0)
		w.saved("a")
		w.wants("conditions", w.conditions(), "")
		w.wants("warnings", w.logged("WARN", "recovered the newest login"), 1)
		if _, err := os.Stat(path); err == nil {
			w.Errorf("%s is there", path)
		}
	}, func(w *world) {
		w.stale("a")
		path = w.orphan("a", w.provider.Login("a"))
	})
}

// TOK-6b, TOK-7: a login that is recovered while shunt runs ends the cooldown that the old one caused.
func TestRecoveredLoginEndsCooldown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1), TokenLifetime: 8 * time.Minute}, poolOf(""), func(w *world) {
		second() // the background refreshes so short a token at once
		before := len(w.refreshes())
		w.provider.Inject("a", sim.Unauthorized())
		w.wants("status", w.ask("", plainModel, true).status, http.StatusBadGateway)
		w.wants("rests", w.state("a").Cooldown, 300*time.Second)
		w.wants("refreshes", len(w.refreshes()), before+1)
		w.provider.Clear("a")
		time.Sleep(time.Minute)
		w.orphan("a", expiring(w.provider.Login("a"), time.Hour))
		time.Sleep(3*time.Minute + 10*time.Second)
		w.wants("refreshes", len(w.refreshes()), before+2)
		w.wants("rests after the recovery", w.state("a").Cooldown, time.Duration(0))
		w.wants("conditions", w.conditions(), "")
		w.saved("a")
		w.mustServe("", plainModel)
		w.wants("token", w.bearer(), w.provider.Token("a"))
	})
}
