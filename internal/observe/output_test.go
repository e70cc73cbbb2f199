package observe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/observe"
)

// stalled is a writer that blocks until goOn is closed.
type stalled struct {
	goOn chan struct{}
	bytes.Buffer
}

func (h *stalled) Write(p []byte) (int, error) {
	<-h.goOn
	return h.Buffer.Write(p)
}

func lostLine(w io.Writer, lost int64) { fmt.Fprintf(w, "lost %d\n", lost) }

// OBS-1: a log that is not read does not block anything. Lines that do not fit are lost as a whole and counted exactly when
// writing continues, even if the queue is full then. Close writes everything that is queued.
func TestOutputNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := &stalled{goOn: make(chan struct{})}
		out := observe.NewOutput(terminal, lostLine)
		const total = 40_000
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := range total / 4 {
					if n, err := fmt.Fprintf(out, "%060d\n", 4*i+w); n != 61 || err != nil {
						t.Error(n, err)
					}
				}
			})
		}
		writers.Wait()
		close(terminal.goOn)
		synctest.Wait()
		fmt.Fprintln(out, "after")
		out.Close()
		out.Close()
		fmt.Fprintln(out, "too late")

		var written, lost int
		var last string
		for line := range strings.Lines(terminal.String()) {
			var n int
			if _, err := fmt.Sscanf(line, "lost %d\n", &n); err == nil {
				lost += n
			} else if last = line; len(line) == 61 {
				written++
			}
		}
		if lost == 0 || written+lost != total || last != "after\n" {
			t.Errorf("%d written, %d reported lost, of %d; the last is %q", written, lost, total, last)
		}
	})
}

// OBS-1: lines that cannot be written are counted, and the next one that can starts on a new line.
func TestOutputFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &small{room: 8}
		out := observe.NewOutput(disk, lostLine)
		for _, line := range []string{"one", "two", "three"} {
			fmt.Fprintln(out, line)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		disk.room = 1000
		fmt.Fprintln(out, "four")
		out.Close()
		if got := disk.String(); got != "one\ntwo\nlost 1\nfour\n" {
			t.Errorf("%q", got)
		}
	})
}

// small is a disk with room for a number of bytes.
type small struct {
	bytes.Buffer
	room int
}

func (s *small) Write(p []byte) (int, error) {
	n := min(len(p), s.room)
	s.room -= n
	s.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// OBS-1: Close does not wait long for a log that is not read.
func TestOutputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := &stalled{goOn: make(chan struct{})}
		out := observe.NewOutput(terminal, lostLine)
		fmt.Fprintln(out, "a line")
		began := time.Now()
		out.Close()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("closed after %v", took)
		}
		close(terminal.goOn)
	})
}

// OBS-1: lines that are logged concurrently stay intact, and the level applies to requests too.
func TestJSONLinesStayWhole(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := observe.NewLogger(&out, level, "json", false)
	record := whole()
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 200 {
				record.Log(t.Context(), log)
				log.Warn("other", "text", strings.Repeat("x", 2000))
			}
		})
	}
	writers.Wait()
	counts := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var l struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Time == "" {
			t.Fatalf("%q: %v", line, err)
		}
		counts[l.Level+" "+l.Msg]++
	}
	if counts["INFO request"] != 800 || counts["WARN other"] != 800 {
		t.Errorf("%v", counts)
	}
	out.Reset()
	level.Set(slog.LevelWarn)
	if record.Log(t.Context(), log); out.Len() > 0 {
		t.Errorf("logged at warn: %s", out.String())
	}
}
