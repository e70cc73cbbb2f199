package observe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"shunt/internal/observe"
)

// halted is a reader of the log that takes nothing until it goes on.
type halted struct {
	goOn chan struct{}
	mu   sync.Mutex
	bytes.Buffer
}

func (h *halted) Write(p []byte) (int, error) {
	<-h.goOn
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Buffer.Write(p)
}

// OBS-1: a log that nobody takes holds up nobody. What finds no room is lost, whole lines at a time, and is told when lines
// are taken again; a close leaves nothing unwritten.
func TestOutputNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := &halted{goOn: make(chan struct{})}
		var told int64
		out := observe.NewOutput(terminal, func(lines int64) { told = lines })
		const total = 40_000
		line := func(i int) string { return fmt.Sprintf("%060d\n", i) }
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := range total / 4 {
					if n, err := out.Write([]byte(line(4*i + w))); n != 61 || err != nil {
						t.Error(n, err)
					}
				}
			})
		}
		writers.Wait()
		close(terminal.goOn)
		synctest.Wait()
		out.Write([]byte("after\n"))
		out.Close()
		out.Close()
		out.Write([]byte("too late\n"))

		lines := strings.SplitAfter(terminal.String(), "\n")
		if last := lines[len(lines)-2:]; last[0] != "after\n" || last[1] != "" {
			t.Errorf("it ends with %q", last)
		}
		for _, l := range lines[:len(lines)-2] {
			if len(l) != 61 {
				t.Fatalf("torn: %q", l)
			}
		}
		if written := int64(len(lines) - 2); told == 0 || written+told != total {
			t.Errorf("%d written, %d told to be lost, of %d", written, told, total)
		}
	})
}

// OBS-1: lines of requests and other lines come whole from many at once, and the level holds for both.
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
