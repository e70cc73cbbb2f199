package quota_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"shunt/internal/quota"
)

// table is the windows of most tests: those of a family that has one scope, which has a week of its own.
var table = quota.NewTable(
	quota.Window{Name: "5h", Field: "5h", Title: "five-hour window", Length: 5 * time.Hour},
	quota.Window{Name: "7d", Field: "7d", Title: "weekly window", Length: week},
	quota.Window{Name: "fable", Field: "7d_oi", Title: "weekly window of Fable models", Length: week, Scope: fableOnly},
)

// The indexes of its windows.
const (
	fiveHour = iota
	sevenDay
	fable
)

// The scopes of its requests.
const (
	anyModel  quota.Scope = ""
	fableOnly quota.Scope = "fable"
)

// history is a state under test; its steps are in the order of their times.
type history struct{ state quota.State }

func newHistory() *history { return &history{quota.NewState(table)} }

// two is a family with two scopes: one has a day of its own and the other an hour, for which all requests have no window.
var two = quota.NewTable(
	quota.Window{Name: "day", Length: 24 * time.Hour},
	quota.Window{Name: "big", Length: 24 * time.Hour, Scope: "big"},
	quota.Window{Name: "fast", Length: time.Hour, Scope: "fast"},
)

// plain is a family without scopes, whose windows have other lengths; the longer one comes first.
var plain = quota.NewTable(
	quota.Window{Name: "30d", Length: 30 * 24 * time.Hour},
	quota.Window{Name: "3h", Length: 3 * time.Hour},
)

func stateOf(t *quota.Table, sig quota.Signal) quota.State {
	s := quota.NewState(t)
	s.Record(sig, at(-time.Second), at(0))
	return s
}

// SEL-4: the week of a scope governs its requests once its utilization is known; the shared one does otherwise.
func TestGoverningWeek(t *testing.T) {
	h := newHistory()
	h.record(0, on(fable, until(time.Hour, status("allowed"))))
	if got := h.state.Governing(fableOnly); got != quota.Of(fiveHour, sevenDay) {
		t.Errorf("request of the scope, utilization unknown: %b", got)
	}
	h.record(0, on(fable, used(0)))
	if got := h.state.Governing(fableOnly); got != quota.Of(fiveHour, fable) {
		t.Errorf("request of the scope, utilization known: %b", got)
	}
	if got := h.state.Governing(anyModel); got != quota.Of(fiveHour, sevenDay) {
		t.Errorf("any other request: %b", got)
	}
}

// SEL-4: a scope's window governs in place of the one of the same length once its utilization is observed; a window whose
// length no other has governs beside the others.
func TestGoverning(t *testing.T) {
	const day, big, fast = 0, 1, 2
	seen := func(windows ...int) (sig quota.Signal) {
		for _, w := range windows {
			sig.Windows[w] = used(0.1)
		}
		return sig
	}
	tests := []struct {
		name    string
		table   *quota.Table
		sig     quota.Signal
		scope   quota.Scope
		want    quota.Set
		longest any
	}{
		{"two scopes, a request of neither", two, seen(day, big, fast), anyModel, quota.Of(day), day},
		{"its day is observed", two, seen(day, big, fast), "big", quota.Of(big), big},
		{"its day is not observed", two, seen(day, fast), "big", quota.Of(day), day},
		{"its day has a status only", two, on(big, status("allowed")), "big", quota.Of(day), day},
		{"an hour beside the day", two, seen(day, big, fast), "fast", quota.Of(day, fast), day},
		{"an hour that is not observed", two, seen(day, big), "fast", quota.Of(day), day},
		{"a scope of another family", two, seen(day, big, fast), "slow", quota.Of(day), day},
		{"no scopes", plain, seen(0, 1), anyModel, quota.Of(0, 1), 0},
		{"no scopes, nothing observed", plain, quota.Signal{}, "big", quota.Of(0, 1), 0},
		{"no table", nil, seen(0, 1, 2), "big", 0, nil},
	}
	for _, tt := range tests {
		s := stateOf(tt.table, tt.sig)
		if got := s.Governing(tt.scope); got != tt.want {
			t.Errorf("%s: windows %b govern, want %b", tt.name, got, tt.want)
		}
		var longest any
		if w, ok := s.Longest(tt.scope); ok {
			longest = w
		}
		if longest != tt.longest {
			t.Errorf("%s: the longest is %v, want %v", tt.name, longest, tt.longest)
		}
	}
}

// SEL-4 to SEL-7, CAP-2: rejections, thresholds and caps of one scope leave the other scope and all other requests alone.
func TestTwoScopes(t *testing.T) {
	const day, big, fast = 0, 1, 2
	half := 0.5
	caps := quota.Cap(quota.Setting{All: &half})
	scopes := []quota.Scope{anyModel, "big", "fast"}
	type verdict struct{ rejected, near, over, capped []quota.Scope }
	all, none := scopes, []quota.Scope(nil)
	tests := []struct {
		name string
		sig  quota.Signal
		want verdict
	}{
		{"all is well", merged("", on(day, used(0.1)), on(big, used(0.1)), on(fast, used(0.1))), verdict{}},
		{"one scope rejects", on(big, status("rejected")), verdict{scopes[1:2], scopes[1:2], scopes[1:2], none}},
		{"the other rejects", on(fast, status("rejected")), verdict{scopes[2:], scopes[2:], scopes[2:], none}},
		{"all requests are rejected", on(day, status("rejected")), verdict{all, all, all, none}},
		{"one scope is near", on(big, used(0.85)), verdict{none, scopes[1:2], none, scopes[1:2]}},
		{"the other is exhausted", on(fast, used(1)), verdict{none, scopes[2:], scopes[2:], scopes[2:]}},
		{"a free scope leaves the day aside, but not its cap", merged("", on(day, used(0.9)), on(big, used(0.1))), verdict{none, []quota.Scope{anyModel, "fast"}, none, all}},
	}
	for _, tt := range tests {
		s := stateOf(two, tt.sig)
		var got verdict
		for _, scope := range scopes {
			if s.Rejected(scope, soft) {
				got.rejected = append(got.rejected, scope)
			}
			if s.Near(scope, soft) {
				got.near = append(got.near, scope)
			}
			if s.OverHard(scope, soft, quota.DefaultHard) {
				got.over = append(got.over, scope)
			}
			if _, capped := s.Capped(scope, caps); capped {
				got.capped = append(got.capped, scope)
			}
		}
		if !slices.Equal(got.rejected, tt.want.rejected) || !slices.Equal(got.near, tt.want.near) ||
			!slices.Equal(got.over, tt.want.over) || !slices.Equal(got.capped, tt.want.capped) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// QUO-10 to QUO-12, SEL-21: lifetimes and headroom go by the lengths in the table.
func TestOtherLengths(t *testing.T) {
	const month, three, h = 0, 1, time.Hour
	s := stateOf(plain, merged("", on(month, used(0.2)), on(three, until(2*h, used(0.2)))))
	if got := s.WindowHeadroom(three, 0.8, at(0)); math.Abs(got-3600) > 1e-6 { // 0.6 * 3600 / 0.2 - 7200
		t.Errorf("headroom %v", got)
	}
	for after, want := range map[time.Duration]view{30*24*h - 1: {0.2, nil, ""}, 30 * 24 * h: {}} {
		expired := s
		expired.Expire(at(after))
		expect(t, after.String(), expired, month, want)
	}
	s = stateOf(plain, on(three, used(0.2)))
	for after, want := range map[time.Duration]view{3*h - 1: {0.2, nil, ""}, 3 * h: {}} {
		expired := s
		expired.Expire(at(after))
		expect(t, after.String(), expired, three, want)
	}
}

// A state without a table has no windows: it ignores what is reported of them.
func TestNoTable(t *testing.T) {
	var s quota.State
	s.Record(on(0, quota.WindowSignal{Utilization: 1, HasUtilization: true, Reset: at(time.Hour), Status: "rejected"}), at(0), at(0))
	var u quota.Usage
	u.Windows[0] = quota.WindowUsage{Utilization: 1, Has: true}
	s.RecordUsage(u, at(0), at(0))
	if !s.Unseen() || s.Near(anyModel, soft) {
		t.Errorf("unseen %v, near %v", s.Unseen(), s.Near(anyModel, soft))
	}
}

func TestTable(t *testing.T) {
	if got := two.Scopes(); !slices.Equal(got, []quota.Scope{"big", "fast"}) {
		t.Errorf("scopes %q", got)
	}
	if got := plain.Windows(); len(got) != 2 || got[1].Name != "3h" || len(plain.Scopes()) != 0 {
		t.Errorf("windows %+v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a table may have too many windows")
		}
	}()
	quota.NewTable(make([]quota.Window, quota.MaxWindows+1)...)
}
