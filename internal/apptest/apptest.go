// Package apptest runs a whole shunt in front of a simulated provider, for tests: from a configuration file to the responses
// that clients receive. Like [simtest], on which it builds, it uses connections in memory and virtual time.
package apptest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/app"
	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/family"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// World is a shunt, with the world that it is tested in. The account store is [simtest.World]'s.
type World struct {
	*simtest.World
	App  *app.App
	File string // the configuration
	// Families are the families of accounts that shunt knows. Run sets them to those of [app.Registry].
	Families []*family.Family
	Env      []string // of the process; TEST_KEY is [simtest.PaidKey]
	HUP      chan struct{}
	Level    *slog.LevelVar // of the log
	Clock    clock.Clock    // shunt's; the provider has the real one

	// Stop stops shunt as SIGTERM does, and returns what [app.App.Run] returned. Only the first call does. Run stops a shunt that
	// the test has not stopped.
	Stop func() error
}

// Run runs a test of a shunt with a configuration, in TOML. The functions in before may change the world before shunt starts.
// The variable SHUNT_TEST_TRANSPORT names the transport, server.transport, if it is set.
func Run(t *testing.T, provider sim.Config, toml string, test func(*World), before ...func(*World)) {
	t.Helper()
	simtest.Run(t, provider, func(base *simtest.World) {
		w := &World{World: base, Families: app.Registry(), File: filepath.Join(base.TempDir(), "shunt.toml"), HUP: make(chan struct{}), Level: new(slog.LevelVar)}
		w.Must(os.WriteFile(w.File, []byte(toml), 0o600))
		w.Env = []string{
			"HOME=" + w.TempDir(), "SHUNT_CLAUDE_ACCOUNTS_DIR=" + w.Store, "SHUNT_CLAUDE_TOKEN_URL=" + simtest.ProviderURL + sim.TokenPath,
			"TEST_KEY=" + simtest.PaidKey,
		}
		if transport := os.Getenv("SHUNT_TEST_TRANSPORT"); transport != "" {
			w.Env = append(w.Env, "SHUNT_SERVER__TRANSPORT="+transport)
		}
		for _, f := range before {
			f(w)
		}
		w.start()
		defer func() {
			w.Client.CloseIdleConnections()
			if err := w.Stop(); err != nil {
				t.Errorf("run: %v", err)
			}
		}()
		test(w)
	})
}

func (w *World) start() {
	w.Helper()
	cfg, warnings, err := config.Load(config.Options{Path: w.File, Env: w.Env, Families: app.ConfigFamilies(w.Families)})
	w.Must(err)
	log := slog.New(slog.NewTextHandler(w.Log, &slog.HandlerOptions{Level: w.Level}))
	for _, warning := range warnings {
		log.Warn(warning.String())
	}
	w.App, err = app.New(cfg, app.Options{
		Families: w.Families,
		Version:  "test", Env: w.Env, Log: log, Level: w.Level, Clock: w.Clock, Dial: w.Dial, OnRecord: w.Record,
	})
	w.Must(err)
	w.Tested = w.App
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.App.Run(ctx, w.Front, w.HUP); close(ended) }()
	w.Stop = func() error { stop(); return <-ended }
}

// At returns the path of a file below the home directory, and makes its directory.
func (w *World) At(path string) string {
	w.Helper()
	var home string
	for _, entry := range w.Env {
		if value, ok := strings.CutPrefix(entry, "HOME="); ok {
			home = value
		}
	}
	path = filepath.Join(home, path)
	w.Must(os.MkdirAll(filepath.Dir(path), 0o700))
	return path
}

// HangUp sends a SIGHUP, and returns when the configuration has been read.
func (w *World) HangUp() {
	w.HUP <- struct{}{}
	time.Sleep(time.Millisecond)
	synctest.Wait()
}

// Reload replaces the configuration and sends a SIGHUP.
func (w *World) Reload(toml string) {
	w.Helper()
	w.Must(os.WriteFile(w.File, []byte(toml), 0o600))
	w.HangUp()
}
