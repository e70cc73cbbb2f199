package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// aFrame returns a frame with every kind of row.
func aFrame() *frame {
	const day = 24 * time.Hour
	known := func(used float64, resetIn time.Duration) gauge {
		return gauge{known: true, used: used, soft: 0.98, resetIn: resetIn}
	}
	full := known(1.02, 42*time.Minute)
	full.rejected = true
	return &frame{
		speed: 60, lasted: 85 * time.Second, simulated: 85 * time.Minute,
		accounts: []standing{
			{
				name: "amber", near: true, fableNear: true,
				windows: [windows]gauge{known(0.984, 18*time.Minute+20*time.Second), known(0.61, 2*day+3*time.Hour), known(0.34, 2*day)},
			},
			{
				name: "birch", near: true, rejected: true, fableRejected: true, cooldown: 42 * time.Minute, cause: "rejected",
				windows: [windows]gauge{full, known(0.35, 4*day), known(0.979, 4*day)},
			},
			{name: "cedar", fableNear: true, windows: [windows]gauge{known(0, 5*time.Hour), known(0.12, 6*day), known(0.985, 3*day)}},
			{name: "daisy", unseen: true},
		},
		served:       map[string]usage{"amber": {40, 1_249_000}, "birch": {117, 8_000_000}, "cedar": {1203, 412_000}},
		sessionsAt:   map[string][]int{"amber": {5}, "cedar": {1, 2, 3, 4}},
		numSimulated: 4,
		events: []event{
			{at: 359 * time.Second, text: "sessions 1 and 4 moved from amber to birch before amber hit its limit: 98% of its 5h window is used"},
			{at: 22 * time.Minute, text: "another program used up birch's 5h window; the gateway does not know yet"},
			{at: 83 * time.Minute, text: "sessions 1 and 4 moved from birch to cedar: birch returned 429 because its 5h window is used up; cedar served the request"},
		},
		requests: 1360, moves: 4, refreshes: 3,
	}
}

func drawn(f *frame, width, height int) string {
	var b strings.Builder
	for _, l := range f.view(width, height) {
		b.WriteString(l.text(false) + "\n")
	}
	return b.String()
}

// CLI-3: the view shows the state of each account, what happened and why, at any width.
func TestView(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{60, `
1h 25m simulated in 1m 25s, at 60 times real speed
                       5h         7d         Fable 7d   reqs
amber near limit 5h    ███▉  98%  ██▍·  61%  █▎··  34%    40
birch cooling down 42m ████ 102%  █▍··  35%  ███▉  97%   117
cedar near limit Fable ····   0%  ▍···  12%  ███▉  98%  1203
daisy not seen yet     ····    -  ····    -  ····    -     0
sessions at amber you, birch -, cedar 1 2 3 4, daisy -

 5m 59s sessions 1 and 4 moved from amber to birch before
        amber hit its limit: 98% of its 5h window is used
 22m 0s another program used up birch's 5h window; the
        gateway does not know yet
 1h 23m sessions 1 and 4 moved from birch to cedar: birch
        returned 429 because its 5h window is used up; cedar
        served the request

1360 requests, none failed, 4 moves, 3 tokens refreshed
`},
		{80, `
1h 25m simulated in 1m 25s, at 60 times real speed
                       5h             7d             Fable 7d       reqs tokens
amber near limit 5h    ███▉  98% 19m  ██▍·  61%  3d  █▎··  34% 48h    40   1.2M
birch cooling down 42m ████ 102% 42m  █▍··  35%  4d  ███▉  97%  4d   117   8.0M
cedar near limit Fable ····   0%  5h  ▍···  12%  6d  ███▉  98%  3d  1203 412.0k
daisy not seen yet     ····    -      ····    -      ····    -         0      0
sessions at amber you, birch -, cedar 1 2 3 4, daisy -

 5m 59s sessions 1 and 4 moved from amber to birch before amber hit its limit:
        98% of its 5h window is used
 22m 0s another program used up birch's 5h window; the gateway does not know yet
 1h 23m sessions 1 and 4 moved from birch to cedar: birch returned 429 because
        its 5h window is used up; cedar served the request



1360 requests, none failed, 4 moves, 3 tokens refreshed
`},
		{120, `
1h 25m simulated in 1m 25s, at 60 times real speed
                       5h                          7d                          Fable 7d                    reqs tokens
amber near limit 5h    ████████████▊  98% 18m 20s  ███████▉·····  61%   2d 3h  ████▍········  34%   2d 0h    40   1.2M
birch cooling down 42m █████████████ 102%  42m 0s  ████▌········  35%   4d 0h  ████████████▋  97%   4d 0h   117   8.0M
cedar near limit Fable ·············   0%   5h 0m  █▌···········  12%   6d 0h  ████████████▊  98%   3d 0h  1203 412.0k
daisy not seen yet     ·············    -          ·············    -          ·············    -             0      0
sessions at amber you, birch -, cedar 1 2 3 4, daisy -

 5m 59s sessions 1 and 4 moved from amber to birch before amber hit its limit: 98% of its 5h window is used
 22m 0s another program used up birch's 5h window; the gateway does not know yet
 1h 23m sessions 1 and 4 moved from birch to cedar: birch returned 429 because its 5h window is used up; cedar served
        the request




1360 requests, none failed, 4 moves, 3 tokens refreshed
`},
	} {
		got := drawn(aFrame(), c.width, 17)
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got); diff != "" {
			t.Errorf("at %d columns (-want +got):\n%s\n%s", c.width, diff, got)
		}
	}
}

func TestViewFits(t *testing.T) {
	for width := 1; width <= 200; width++ {
		for _, height := range []int{1, 5, 8, 12, 17, 24, 60} {
			f := aFrame()
			lines := f.view(width, height)
			if len(lines) > height {
				t.Errorf("%d lines in %d rows", len(lines), height)
			}
			for _, l := range lines {
				if columns(l.text(false)) > width {
					t.Errorf("%q is wider than %d columns", l.text(false), width)
				}
			}
			f.events = nil
			if without := len(f.view(width, height)); without != len(lines) {
				t.Errorf("%d by %d: %d lines become %d with events", width, height, without, len(lines))
			}
		}
	}
}

// CLI-3: without a terminal a frame is one plain line, with the last event if it is new.
func TestSummary(t *testing.T) {
	const want = "1m 25s (1h 25m): amber near limit 5h (5h 98%, 7d 61%, Fable 34%); birch cooling down 42m (5h 102%, 7d 35%, Fable 97%); " +
		"cedar near limit Fable (5h 0%, 7d 12%, Fable 98%); daisy not seen yet; 1360 requests, none failed, 4 moves, 3 tokens refreshed"
	const news = "; sessions 1 and 4 moved from birch to cedar: birch returned 429 because its 5h window is used up; cedar served the request"
	if diff := cmp.Diff(want+news, aFrame().summary(80*time.Minute)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, aFrame().summary(83*time.Minute)); diff != "" {
		t.Error(diff)
	}
}

func TestState(t *testing.T) {
	full := gauge{known: true, used: 1, soft: 0.98}
	for _, c := range []struct {
		standing
		want string
	}{
		{standing{}, "ok"},
		{standing{unseen: true}, "not seen yet"},
		{standing{disabled: true, near: true, cooldown: time.Minute}, "disabled"},
		{standing{cooldown: 42 * time.Second, cause: "overloaded"}, "cooling down 42s"},
		{standing{cooldown: 59 * time.Minute, cause: "rejected", near: true, rejected: true}, "cooling down 59m"},
		{standing{near: true}, "near limit"},
		{standing{near: true, windows: [windows]gauge{fiveHour: full}}, "near limit 5h"},
		{standing{near: true, rejected: true, windows: [windows]gauge{sevenDay: full}}, "near limit 7d"},
		{standing{near: true, fableRejected: true, windows: [windows]gauge{sevenDay: full, fableWindow: full}}, "near limit 7d"},
		{standing{fableNear: true, fableRejected: true}, "near limit Fable"},
		{standing{fableCooldown: time.Minute}, "near limit Fable"},
		{standing{fableNear: true}, "near limit Fable"},
	} {
		got, _ := c.state()
		if got != c.want || len(got) > stateWidth {
			t.Errorf("%+v is %q, want %q", c.standing, got, c.want)
		}
	}
}

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		-time.Second:                    {"0s", "0s"}, // a reset can be slightly in the past
		0:                               {"0s", "0s"},
		1500 * time.Millisecond:         {"2s", "1s"},
		99 * time.Second:                {"99s", "1m 39s"},
		100 * time.Second:               {"2m", "1m 40s"},
		59*time.Minute + 59*time.Second: {"60m", "59m 59s"},
		99 * time.Minute:                {"99m", "1h 39m"},
		100 * time.Minute:               {"2h", "1h 40m"},
		29*time.Hour + 59*time.Minute:   {"30h", "1d 5h"},
		48 * time.Hour:                  {"48h", "2d 0h"},
		167 * time.Hour:                 {"7d", "6d 23h"},
	} {
		if got := [2]string{short(d), roughly(d)}; got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 999_949: "999.9k", 1_250_000: "1.2M", 3_000_000_000: "3.0G"} {
		if got := amount(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for fraction, want := range map[float64]string{0: "···|0%", 0.5: "█▌·|50%", 0.979: "██▉|97%", 0.98: "██▉|98%", 1: "███|100%", 1.3: "███|130%"} {
		filled, rest := bar(fraction, 3)
		if got := filled + rest + "|" + percent(fraction); got != want {
			t.Errorf("%v is %q, want %q", fraction, got, want)
		}
	}
}
