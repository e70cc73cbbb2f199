package observe_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"shunt/internal/clock"
	"shunt/internal/observe"
)

func newHealth() *observe.Health {
	return observe.NewHealth(slog.New(slog.DiscardHandler), clock.Clock{})
}

func openLog(t *testing.T, path string, health *observe.Health) *observe.RequestLog {
	t.Helper()
	log, err := observe.OpenRequestLog(path, health)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// ids returns the request ids in a log. Every line must be a complete record.
func ids(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(content)) {
		var r observe.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ids = append(ids, r.RequestID)
	}
	return ids
}

// OBS-1: the request log is private and appended to; Close writes what is queued and stops the goroutine.
func TestRequestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	for _, id := range []string{"one", "two"} {
		log := openLog(t, path, newHealth())
		record := whole()
		record.RequestID = id
		log.Write(&record)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	}
	if got := strings.Join(ids(t, path), " "); got != "one two" {
		t.Errorf("lines: %s", got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// OBS-1: after log rotation and Reopen every line goes to the new file, and none is lost in between.
func TestRequestLogReopen(t *testing.T) {
	dir := t.TempDir()
	path, rotated := filepath.Join(dir, "requests"), filepath.Join(dir, "requests.1")
	health := newHealth()
	log := openLog(t, path, health)
	write := func(n int) { log.Write(&observe.Record{RequestID: strconv.Itoa(n)}) }
	write(1)
	if err := os.Rename(path, rotated); err != nil {
		t.Fatal(err)
	}
	write(2)
	for range 2 {
		if err := log.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	write(3)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	before, after := ids(t, rotated), ids(t, path)
	if got := strings.Join(append(before, after...), " "); got != "1 2 3" || len(after) == 0 {
		t.Errorf("%v, then %v", before, after)
	}
	if err := log.Reopen(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("reopen after close: %v", err)
	}
	log.Write(&observe.Record{})
	if log.Lost() != 1 {
		t.Errorf("lost %d after close", log.Lost())
	}
}

// OBS-1: a path that cannot be opened is an error at the start; on Reopen the old file stays in use.
func TestRequestLogCannotOpen(t *testing.T) {
	if _, err := observe.OpenRequestLog(t.TempDir(), newHealth()); err == nil {
		t.Error("a directory was opened")
	}
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log := openLog(t, filepath.Join(dir, "requests"), newHealth())
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := log.Reopen(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reopen: %v", err)
	}
	log.Write(&observe.Record{RequestID: "kept"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, filepath.Join(dir+".away", "requests")); len(got) != 1 {
		t.Errorf("lines: %v", got)
	}
}

// OBS-1: a full disk is reported with its reason until lines can be written again.
func TestRequestLogFullDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "requests")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	health := newHealth()
	full := openLog(t, path, health)
	full.Write(&observe.Record{})
	if err := full.Close(); err != nil {
		t.Fatal(err)
	}
	want := "1 lost: write " + path + ": no space left on device"
	if conditions := health.List(); len(conditions) != 1 || conditions[0].Detail != want {
		t.Errorf("conditions: %v", conditions)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	roomy := openLog(t, path, health)
	roomy.Write(&observe.Record{})
	if err := roomy.Close(); err != nil {
		t.Fatal(err)
	}
	if conditions := health.List(); len(conditions) != 0 {
		t.Errorf("still active: %v", conditions)
	}
}
