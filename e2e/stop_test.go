package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"shunt/internal/sim"
)

// On SIGTERM in the middle of a response, shunt completes the response and then exits cleanly.
func TestStopCompletesResponses(t *testing.T) {
	p, g, user := poolOf(t, sim.Config{Output: sim.Range{Min: 200, Max: 200}, Pace: sim.Pace{Delta: 30 * time.Millisecond}}, "a")
	r := user.start(t, "--output-format", "stream-json", "--include-partial-messages", "--verbose", "say hi")
	for !strings.Contains(r.stdout.String(), `"content_block_delta"`) {
		select {
		case got := <-r.done:
			t.Fatalf("the turn ended too early: %+v", got)
		case <-time.After(10 * time.Millisecond):
		}
	}
	g.terminate()
	got := <-r.done
	g.stop(t)

	lines := strings.Split(got.stdout, "\n")
	var last struct{ Type, Result string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	got.stdout = last.Result
	p.shown(t, got)
	if n := len(p.messages()); n != 1 {
		t.Errorf("%d requests for one turn", n)
	}
}
