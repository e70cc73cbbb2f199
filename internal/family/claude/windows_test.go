package claude_test

import (
	"testing"

	"shunt/internal/family/claude"
)

// QUO-1, QUO-33: the windows, by their indexes.
func TestWindows(t *testing.T) {
	windows := claude.Family.Windows.Windows()
	if len(windows) != claude.WindowCount {
		t.Fatalf("%d windows", len(windows))
	}
	for w, want := range [claude.WindowCount]struct{ name, field, length string }{
		claude.FiveHour: {"5h", "5h", "5h0m0s"}, claude.SevenDay: {"7d", "7d", "168h0m0s"}, claude.Fable: {"fable", "7d_oi", "168h0m0s"},
	} {
		if got := windows[w]; got.Name != want.name || got.Field != want.field || got.Length.String() != want.length {
			t.Errorf("window %d is %+v", w, got)
		}
		if scoped := windows[w].Scope != ""; scoped != (w == claude.Fable) {
			t.Errorf("the scope of %s is %q", want.name, windows[w].Scope)
		}
	}
}
