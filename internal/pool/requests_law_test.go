package pool

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// RMP-1, RMP-2, SEL-32: requests that take, fail, succeed and end in any order. The counts of requests in flight are right, no
// account is over its allowance while an equally good or better candidate has a slot, each is tried once, and the explanation
// matches the choice.
func TestLawRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, playRamp)
	})
}

func playRamp(t *rapid.T) {
	r := NewTestRegistry()
	p := r.Pool("claude")
	var accounts []Account
	for i := range 4 {
		name := fmt.Sprintf("m%d", i)
		accounts = append(accounts, Account{Name: name, Key: keyOf(name), Soft: soft, Priority: rapid.IntRange(0, 1).Draw(t, "priority")})
	}
	policy := Policy{Planned: true, RampInitial: rapid.IntRange(0, 2).Draw(t, "initial")}
	p.Configure(accounts, policy)

	type request struct {
		*Selection
		holds string
		tried []string
	}
	var open []*request
	for range 40 {
		time.Sleep(time.Duration(rapid.IntRange(0, 20).Draw(t, "pause")) * time.Second)
		if len(open) == 0 || rapid.Bool().Draw(t, "begins") {
			open = append(open, &request{Selection: p.Begin(Criteria{Session: Session(rapid.Uint64Range(0, 5).Draw(t, "session"))})})
		}
		i := rapid.IntRange(0, len(open)-1).Draw(t, "request")
		x := open[i]
		switch rapid.IntRange(0, 2).Draw(t, "step") {
		case 0:
			x.Release()
			open = slices.Delete(open, i, i+1)
		case 1:
			if x.holds != "" {
				o := Outcome{Sent: time.Now(), Event: rapid.SampledFrom([]Event{Success, Success, Overloaded}).Draw(t, "event"), Cooldown: 5 * time.Second}
				p.Observe(keyOf(x.holds), o)
			}
		case 2:
			fresh := len(x.tried) == 0
			explained := p.Explain(x.query.Criteria)
			c, ok := x.Next(context.Background())
			x.holds = c.Name
			if !ok {
				if len(x.tried) != len(accounts) && x.cooled < cooledTries { // FO-15
					t.Fatalf("tried %v only", x.tried)
				}
				break
			}
			if slices.Contains(x.tried, c.Name) {
				t.Fatalf("tried %s twice", c.Name)
			}
			x.tried = append(x.tried, c.Name)
			if !fresh {
				break
			}
			admitted := slices.IndexFunc(explained.Places, func(p Place) bool { return !p.Denied && p.Group < NoLogin })
			last := slices.IndexFunc(explained.Places, func(p Place) bool { return p.Group == CoolingDown }) - 1
			if last == -2 {
				last = len(explained.Places) - 1
			}
			if admitted < 0 {
				admitted = max(last, 0)
			}
			if x.query.Session != 0 && x.waited == 0 && explained.Places[admitted].Name != c.Name {
				t.Fatalf("%s was chosen of %+v", c.Name, explained.Places)
			}
		}
		inFlight := map[string]int{}
		for _, x := range open {
			if x.holds != "" {
				inFlight[x.holds]++
			}
		}
		for _, s := range p.Snapshot() {
			if s.InFlight != inFlight[s.Name] {
				t.Fatalf("%s has %d in flight, not %d", s.Name, s.InFlight, inFlight[s.Name])
			}
		}
	}
	for _, x := range open {
		x.Release()
	}
}

// SEL-11, SEL-30: in all cases, a request tries each account once, and a session that changes its account has a reason.
func TestLawRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, playRequests) // a bubble has no deadline that rapid could ask a *testing.T for
	})
}

func playRequests(t *rapid.T) {
	r := NewTestRegistry()
	p := r.Pool("claude")
	configure := func() (enabled int) {
		var accounts []Account
		for i := range 4 {
			a := Account{Name: fmt.Sprintf("m%d", i), Key: keyOf(fmt.Sprintf("m%d", i)), Soft: soft}
			a.Disabled = rapid.IntRange(0, 4).Draw(t, "disabled") == 0
			if rapid.IntRange(0, 4).Draw(t, "gone") == 0 {
				continue
			}
			accounts = append(accounts, a)
			if !a.Disabled {
				enabled++
			}
		}
		p.Configure(accounts, Policy{})
		return enabled
	}
	enabled := configure()
	var servedBy string
	for range 20 {
		time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(t, "pause")) * time.Second)
		if rapid.IntRange(0, 5).Draw(t, "reload") == 0 {
			enabled = configure()
		}
		s := p.Begin(Criteria{Session: SessionOf("s")})
		tried := map[string]bool{}
		cooled := 0
		for {
			c, ok := s.Next(context.Background())
			if !ok {
				if len(tried) != enabled && cooled < cooledTries { // FO-15
					t.Fatalf("tried %v of %d", tried, enabled)
				}
				break
			}
			if c.Group == CoolingDown {
				cooled++
			}
			if cooled > cooledTries {
				t.Fatalf("tried %d that are cooled", cooled)
			}
			if tried[c.Name] {
				t.Fatalf("tried %s twice", c.Name)
			}
			tried[c.Name] = true
			o := outcomeOf(t)
			o.Sent, o.Cooldown = time.Now(), min(o.Cooldown, 5*time.Minute)
			for w := range o.Signal.Windows {
				if reset := &o.Signal.Windows[w].Reset; !reset.IsZero() {
					*reset = time.Now().Add(reset.Sub(noon) / 60)
				}
			}
			s.Observe(c, o)
			if o.Event > Success {
				continue
			}
			move, moved := s.Served(c, false)
			if want := servedBy != "" && servedBy != c.Name; moved != want {
				t.Fatalf("from %q to %q: moved = %v", servedBy, c.Name, moved)
			}
			if moved && (move.Reason == "" || move.From != servedBy || move.To != c.Name) {
				t.Fatalf("from %q to %q: %+v", servedBy, c.Name, move)
			}
			servedBy = c.Name
			break
		}
	}
}

// RMP-2, FO-6: requests that wait while others begin, end, succeed and fail. No request waits while there is an account for
// it, and the queue has exactly those that wait.
func TestLawQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, playQueue)
	})
}

func playQueue(t *rapid.T) {
	r := NewTestRegistry()
	p := r.Pool("claude")
	var accounts []Account
	for i := range 3 {
		name := fmt.Sprintf("m%d", i)
		accounts = append(accounts, Account{Name: name, Key: keyOf(name), Soft: soft})
	}
	p.Configure(accounts, Policy{RampInitial: rapid.IntRange(1, 2).Draw(t, "initial")})
	type request struct {
		*Selection
		waits atomic.Bool
		leave func()
	}
	var open []*request
	run := func(x *request, choose func(ctx context.Context)) {
		ctx, cancel := context.WithCancel(context.Background())
		x.leave = cancel
		x.waits.Store(true)
		go func() {
			choose(ctx)
			cancel()
			x.waits.Store(false)
		}()
	}
	for range 60 {
		time.Sleep(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause")) * time.Second)
		key := keyOf(fmt.Sprintf("m%d", rapid.IntRange(0, 2).Draw(t, "account")))
		if len(open) == 0 || rapid.Bool().Draw(t, "begins") {
			open = append(open, &request{Selection: p.Begin(Criteria{Session: Session(rapid.Uint64Range(0, 5).Draw(t, "session"))})})
		}
		i := rapid.IntRange(0, len(open)-1).Draw(t, "request")
		x := open[i]
		switch rapid.IntRange(0, 6).Draw(t, "step") {
		case 0, 1:
			if !x.waits.Load() {
				run(x, func(ctx context.Context) { x.Next(ctx) })
			}
		case 2:
			if !x.waits.Load() {
				until := time.Now().Add(20 * time.Second)
				run(x, func(ctx context.Context) { x.Wait(ctx, until) })
			}
		case 3:
			if x.waits.Load() {
				x.leave()
				synctest.Wait()
			}
			x.Release()
			open = slices.Delete(open, i, i+1)
		case 4:
			p.Observe(key, Outcome{Sent: time.Now(), Event: Success})
		case 5:
			event := rapid.SampledFrom([]Event{Overloaded, Unauthorized}).Draw(t, "event")
			p.Observe(key, Outcome{Sent: time.Now(), Event: event, Cooldown: 5 * time.Second})
		case 6:
			p.Pause(key, rapid.IntRange(0, 3).Draw(t, "paused") == 0)
		}
		synctest.Wait()

		waiting := 0
		for _, x := range open {
			if x.waits.Load() {
				waiting++
			}
		}
		r.mu.Lock()
		if r.waiters.Len() != waiting || len(r.changed) > 0 {
			t.Fatalf("%d in the queue, %d wait", r.waiters.Len(), waiting)
		}
		for e := r.waiters.Front(); e != nil; e = e.Next() {
			w := e.Value.(*waiter)
			some := false
			for _, place := range Order(w.members, w.query, time.Now()) {
				if place.Group > OverHard {
					break
				}
				some = true
				if !w.forSlot || w.hasSlot(&place, time.Now()) {
					t.Fatalf("one waits although there is %s", place.Member.Name)
				}
			}
			if w.forSlot && !some {
				t.Fatal("one waits for a slot of none")
			}
		}
		r.mu.Unlock()
	}
	for _, x := range open {
		if x.waits.Load() {
			x.leave()
			synctest.Wait()
		}
	}
	for _, x := range open {
		x.Release()
	}
	for _, s := range p.Snapshot() {
		if s.InFlight != 0 {
			t.Fatalf("%s still has %d in flight", s.Name, s.InFlight)
		}
	}
}
