package dialect

import "testing"

// FAM-3: a client's effort becomes a level that the vendor knows.
func TestLevelFor(t *testing.T) {
	more := Accepts{Efforts: []string{"none", "low", "medium", "high", "xhigh"}}
	for _, c := range []struct {
		effort  Effort
		accepts Accepts
		want    string
	}{
		{Effort{}, Accepts{}, ""},
		{Effort{Thinking: ThinkingOn}, Accepts{}, "medium"},
		{Effort{Thinking: ThinkingOff}, Accepts{}, "low"},
		{Effort{Thinking: ThinkingOff}, more, "none"},
		{Effort{Level: "max"}, more, "xhigh"},
		{Effort{Level: "xhigh"}, Accepts{}, "high"},
		{Effort{Thinking: ThinkingBudgeted, Budget: 1_024}, more, "low"},
		{Effort{Thinking: ThinkingBudgeted, Budget: 1_025}, more, "medium"},
		{Effort{Thinking: ThinkingBudgeted, Budget: 24_576}, more, "high"},
		{Effort{Thinking: ThinkingBudgeted, Budget: 30_000}, more, "xhigh"},
	} {
		if got := c.effort.LevelFor(&c.accepts); got != c.want {
			t.Errorf("%+v: %q, want %q", c.effort, got, c.want)
		}
	}
}
