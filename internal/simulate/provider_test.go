package simulate

import (
	"testing"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/quota"
)

const (
	five, seven, fable = claude.FiveHour, claude.SevenDay, claude.Fable
	hour               = time.Hour
)

// accountOf has windows of that size that reset after that time.
func accountOf(sizes [claude.WindowCount]float64, resets [claude.WindowCount]time.Duration) account {
	a := account{name: "a"}
	for w, window := range claude.Family.Windows.Windows() {
		a.windows[w] = limit{length: window.Length, size: sizes[w], reset: resets[w]}
	}
	return a
}

// QUO-1: the provider admits while there is room, reports what was used before, and refuses until the last full window resets.
func TestProviderWindows(t *testing.T) {
	p := newProvider(monday, []account{accountOf([3]float64{100, 1000, 50}, [3]time.Duration{2 * hour, 50 * hour, 60 * hour})})
	type step struct {
		at     time.Duration
		fable  bool
		units  float64
		full   quota.Set
		retry  time.Duration
		before float64 // of the five hours
	}
	for i, s := range []step{
		{0, false, 60, 0, 0, 0},
		{hour, true, 45, 0, 0, 0.6},                              // passes the limit
		{hour, false, 0, quota.Of(five), hour, 1.05},             // and is the last
		{2 * hour, true, 10, 0, 0, 0},                            // until the reset, which is a moment of the new window
		{3 * hour, true, 0, quota.Of(fable), 57 * hour, 0.1},     // 55 of 50
		{3 * hour, false, 90, 0, 0, 0.1},                         // which affects no other model
		{4 * hour, true, 0, quota.Of(five, fable), 56 * hour, 1}, // the later of two
		{60*hour + 1, true, 1, 0, 0, 0},                          // all have begun anew
		{60*hour + 2, false, 0, 0, 0, 0.01},                      // and none is full
		{50*hour + 7*24*hour, false, 0, 0, 0, 0},                 // a week later
		{50*hour + 7*24*hour + hour, false, 2000, 0, 0, 0},       // the week is full now
		{58*hour + 7*24*hour, false, 0, quota.Of(seven), 160 * hour, 0},
	} {
		p.advance(s.at)
		a := p.send(0, s.fable, s.at)
		if a.full != s.full || a.served != (s.full == 0) || a.retry != s.retry {
			t.Fatalf("step %d: full %b, again in %v", i, a.full, a.retry)
		}
		got := a.signal.Windows[five]
		if got.Utilization != s.before || !got.HasUtilization || !got.Reset.After(monday.Add(s.at)) {
			t.Errorf("step %d: %+v", i, got)
		}
		for w := range claude.WindowCount {
			if rejected := a.signal.Windows[w].Status == "rejected"; rejected != (p.accounts[0].windows[w].used >= p.accounts[0].windows[w].size) {
				t.Errorf("step %d: %v is %s", i, w, a.signal.Windows[w].Status)
			}
		}
		if a.served {
			p.accounts[0].charge(s.units, s.fable)
		}
		if u := p.usage(0).Windows[seven]; u.Utilization != p.accounts[0].windows[seven].used/1000 || !u.Has {
			t.Errorf("step %d: usage %+v", i, u)
		}
	}
}

// SIM-1: a cache belongs to one account, lasts for its life after the last use, and is left behind by a move.
func TestCaches(t *testing.T) {
	const minute = time.Minute
	c := newCaches(5*minute, 2, 3)
	for i, s := range []struct {
		at              time.Duration
		thread          int32
		account, prompt int
		cached, missed  int
	}{
		{0, 0, 0, 100, 0, 0},
		{5 * minute, 0, 0, 150, 100, 0},  // just in time
		{6 * minute, 1, 0, 70, 0, 0},     // a conversation of its own
		{7 * minute, 0, 1, 180, 0, 150},  // a move
		{8 * minute, 0, 0, 200, 150, 30}, // and back: what came since is missing
		{9 * minute, 0, 2, 210, 0, 200},  // the newest counts
		{14*minute + 1, 0, 2, 220, 0, 0}, // no account has it any more
		{14*minute + 2, 1, 1, 80, 0, 0},
	} {
		turn := turn{at: s.at, thread: s.thread, prompt: s.prompt}
		if cached, missed := c.use(&turn, s.account); cached != s.cached || missed != s.missed {
			t.Errorf("step %d: %d cached, %d elsewhere", i, cached, missed)
		}
	}
	opusTurn := turn{weight: 2, prompt: 1000, output: 10}
	if got := opusTurn.cost(800); got != 2*(80+250+50) {
		t.Errorf("costs %v", got)
	}
	if got := opusTurn.cost(5000); got != 2*(100+50) {
		t.Errorf("cached whole costs %v", got)
	}
}

// SIM-1: expired quota counts only where demand was refused, and no refusal counts twice.
func TestWaste(t *testing.T) {
	var a, b meter
	w := &waste{}
	w.watch(&a)
	w.watch(&b)
	for i, s := range []struct {
		refused float64
		of      *meter
		unused  float64
		total   float64
	}{
		{0, &a, 100, 0},    // no request came
		{30, &a, 100, 30},  // all of the refused would have fitted
		{0, &b, 100, 30},   // and it would have fitted here only instead
		{50, &b, 20, 50},   // part of it would have
		{0, &a, 100, 80},   // and the rest on the other, whose week saw all of it
		{40, &b, 0, 80},    // a week that was used up
		{0, &a, 1000, 120}, // is not a loss; the other one's is
		{0, &b, 100, 120},  // and the next one saw no refusal
	} {
		w.refuse(s.refused)
		s.of.closed(s.unused)
		if w.total != s.total {
			t.Errorf("step %d: %v, want %v", i, w.total, s.total)
		}
	}
}
