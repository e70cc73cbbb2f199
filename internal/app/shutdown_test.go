package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// SIGTERM: an open stream may finish, no new one begins; what is open after shutdown_timeout_seconds is aborted. Every
// response is in the request log.
func TestShutdown(t *testing.T) {
	for _, c := range []struct {
		name string
		toml string
		took time.Duration // from the signal to the end of shunt
		cut  bool
	}{
		{"in time", "", 16 * time.Second, false},
		{"too late", "[server]\nshutdown_timeout_seconds = 10\n", 10 * time.Second, true},
		{"at once", "[server]\nshutdown_timeout_seconds = 0\n", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := filepath.Join(t.TempDir(), "requests.jsonl")
			config := sim.Config{Accounts: simtest.Accounts(1), Output: sim.Range{Min: 80, Max: 80}, Pace: sim.Pace{Delta: time.Second}}
			inWorld(t, config, apptest.PoolOf(c.toml+"[log]\nrequests = \""+requests+"\"\n"), func(w *world) {
				open := w.Begin(w.Context(), "s", simtest.PlainModel)
				time.Sleep(5 * time.Second)
				ended := make(chan time.Duration, 1)
				go func() {
					began := time.Now()
					if err := w.Stop(); err != nil {
						w.Errorf("run: %v", err)
					}
					ended <- time.Since(began)
				}()
				time.Sleep(time.Millisecond)
				if late := w.Request("t", simtest.PlainModel, true); late.Status != 0 {
					w.Errorf("a request after the signal: %d", late.Status)
				}
				r := <-open
				if r.Status != 200 || c.cut != errors.Is(r.Err, sim.ErrTruncated) || !c.cut && r.Err != nil {
					w.Errorf("%d, %v", r.Status, r.Err)
				}
				// Shutdown looks for the end of connections now and then.
				if took := <-ended; took < c.took-time.Second || took > c.took+time.Second {
					w.Errorf("it took %v", took)
				}
				text, err := os.ReadFile(requests)
				if strings.Contains(string(text), `"end":"shutdown"`) != c.cut || strings.Contains(string(text), "client_gone") { // OBS-1
					w.Errorf("how it ended: %s", text)
				}
				if lines := strings.Count(string(text), "\n"); err != nil || lines != 1 || !strings.Contains(string(text), `"status":200`) {
					w.Errorf("%v, %d lines: %s", err, lines, text)
				}
				synctest.Wait()
				if got := w.Provider.Requests()[0].Outcome; (got == sim.Canceled) != c.cut {
					w.Errorf("the provider's request ended %q", got)
				}
			})
		})
	}
}
