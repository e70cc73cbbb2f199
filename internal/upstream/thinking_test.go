package upstream_test

import (
	"strings"
	"testing"
	"time"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// SEL-31: once a session has moved, the first request whose reasoning stays behind is warned about, and no other.
func TestReasoningThatStaysBehind(t *testing.T) {
	const bound, free = "claude-sonnet-5-5", simtest.PlainModel
	body := func(model, block string) string {
		return `{"model":"` + model + `","max_tokens":64,"messages":[{"role":"assistant","content":[` + block + `]},{"role":"user","content":"go on"}]}`
	}
	const thought, text = `{"type":"thinking","thinking":"hm","signature":"s"}`, `{"type":"text","text":"the block {\"type\":\"thinking\"} is gone"}`
	const warning = "responds without its earlier reasoning"
	for _, c := range []struct {
		name  string
		body  string
		moves bool
		warns int
	}{
		{"it has moved", body(bound, thought), true, 1},
		{"of a dated version", body(bound+"-20260401", thought), true, 1},
		{"with a long context", body(bound+"[1m]", thought), true, 1},
		{"hidden reasoning", body(bound, `{"type": "redacted_thinking", "data": "x"}`), true, 1},
		{"it has not moved", body(bound, thought), false, 0},
		{"no reasoning", body(bound, text), true, 0},
		{"a model that does not bind it", body(free, thought), true, 0},
		{"a model with a longer name", body(bound+"0", thought), true, 0},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			post := func(path string) {
				if r := w.Post(w.Context(), path, "s", c.body); r.Status != 200 {
					w.Fatalf("%s: %d: %s", c.name, r.Status, r.Body)
				}
			}
			home := w.MustServe("s", free)
			if c.moves {
				w.Provider.Inject(home, sim.Overloaded().Times(1))
				w.MustServe("s", free)
			}
			w.Want(c.name+": warned too early", w.Logged(warning), 0)
			post(sim.CountTokensPath)
			w.Want(c.name+": warned about a count", w.Logged(warning), 0)
			post(sim.MessagesPath)
			w.Want(c.name, w.Logged("level=WARN", warning, "provider=anthropic", "session="+w.Last().Session), c.warns)
			post(sim.MessagesPath)
			time.Sleep(time.Minute)
			post(sim.MessagesPath) // goes home
			w.Want(c.name+": warned in all", w.Logged(warning), c.warns)
			if strings.Contains(w.Log.String(), "hm") {
				w.Errorf("%s: reasoning is in the log", c.name)
			}
		})
	}
}
