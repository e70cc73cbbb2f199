package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"shunt/internal/sim"
)

// SIGTERM in the middle of an answer: Claude Code gets the rest of it, and then shunt ends well.
func TestStopLetsAnswersFinish(t *testing.T) {
	p, g, user := poolOf(t, sim.Config{Output: sim.Range{Min: 200, Max: 200}, Pace: sim.Pace{Delta: 30 * time.Millisecond}}, "a")
	r := user.start(t, "--output-format", "stream-json", "--include-partial-messages", "--verbose", "say hi")
	for !strings.Contains(r.stdout.String(), `"content_block_delta"`) {
		select {
		case got := <-r.over:
			t.Fatalf("over before it could be seen: %+v", got)
		case <-time.After(10 * time.Millisecond):
		}
	}
	g.askToStop()
	got := <-r.over
	g.stop(t)

	lines := strings.Split(got.stdout, "\n")
	var last struct{ Type, Result string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	got.stdout = last.Result
	p.answered(t, got)
	if n := len(p.messages()); n != 1 {
		t.Errorf("%d requests for one answer", n)
	}
}
