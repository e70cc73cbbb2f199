package apptest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"shunt/internal/app"
	"shunt/internal/config"
	"shunt/internal/sim"
)

// Start runs a shunt on a socket of its own, outside a bubble, until stop is called. The configuration is in TOML; env is added
// to the environment, which has nothing else but a home directory.
func Start(t *testing.T, toml string, log *slog.Logger, env ...string) (address string, stop func()) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shunt.toml")
	must(t, os.WriteFile(file, []byte(toml), 0o600))
	env = append(env, "HOME="+dir, "SHUNT_SERVER__BIND=127.0.0.1:0")
	cfg, _, err := config.Load(config.Options{Path: file, Env: env, Families: app.Families()})
	must(t, err)
	a, err := app.New(cfg, app.Options{Version: "test", Env: env, Log: log})
	must(t, err)
	l, err := a.Listen()
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, l, nil) }()
	return l.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

// StoreOf writes the logins of all the provider's accounts into a new account store, and returns the variable that names it, for
// [Start].
func StoreOf(t *testing.T, provider *sim.Provider) (variable string) {
	t.Helper()
	dir := t.TempDir()
	for _, account := range provider.Accounts() {
		must(t, os.WriteFile(filepath.Join(dir, account+".json"), provider.Credentials(account), 0o600))
	}
	return "SHUNT_CLAUDE_ACCOUNTS_DIR=" + dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
