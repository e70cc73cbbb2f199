package pool

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/internal/quota"
)

func moment(t *rapid.T, label string) time.Time {
	return at(time.Duration(rapid.IntRange(-3, 12).Draw(t, label)) * 30 * time.Minute)
}

func outcomeOf(t *rapid.T) Outcome {
	o := Outcome{
		Sent:     moment(t, "sent"),
		Scope:    FableIf(rapid.Bool().Draw(t, "fable")),
		Event:    Event(rapid.IntRange(int(None), int(LoginNeeded)).Draw(t, "event")),
		Cooldown: time.Duration(rapid.IntRange(0, 240).Draw(t, "cooldown")) * time.Minute,
	}
	if o.Event == ScopeRejected {
		o.RejectedScope = Fable
	}
	statuses := rapid.SampledFrom([]string{"", "", "allowed", "rejected"})
	for w := range o.Signal.Windows {
		ws := &o.Signal.Windows[w]
		ws.Status = statuses.Draw(t, "status")
		if ws.HasUtilization = rapid.Bool().Draw(t, "has utilization"); ws.HasUtilization {
			ws.Utilization = rapid.SampledFrom([]float64{0, 0.3, 0.6, 0.8, 0.98, 1}).Draw(t, "utilization")
		}
		if rapid.Bool().Draw(t, "has reset") {
			ws.Reset = moment(t, "reset")
		}
	}
	o.Signal.Status = statuses.Draw(t, "aggregate")
	return o
}

func anyHealth(t *rapid.T) Health {
	h := *newHealth()
	for range rapid.IntRange(0, 3).Draw(t, "outcomes") {
		h = Observe(h, outcomeOf(t), soft, moment(t, "received"))
	}
	if rapid.IntRange(0, 4).Draw(t, "cleared") == 0 {
		h.clear(moment(t, "clear"))
	}
	return h
}

func softOf(t *rapid.T) quota.Thresholds {
	threshold := rapid.SampledFrom([]float64{0, 0.3, 0.5, 0.8, quota.DefaultHard})
	return quota.Thresholds{threshold.Draw(t, "5h"), threshold.Draw(t, "7d"), threshold.Draw(t, "fable")}
}

func capsOf(t *rapid.T) quota.Caps {
	var c quota.Caps
	if rapid.IntRange(0, 2).Draw(t, "has caps") == 0 {
		limit := rapid.SampledFrom([]float64{0, 0.3, 0.6, 0.9})
		c.At = quota.Thresholds{limit.Draw(t, "cap 5h"), limit.Draw(t, "cap 7d"), limit.Draw(t, "cap fable")}
		c.Set = quota.Set(rapid.IntRange(0, 7).Draw(t, "capped windows"))
	}
	return c
}

func policyOf(t *rapid.T) Policy {
	return Policy{
		Planned: rapid.Bool().Draw(t, "planned"), AvoidBurnRate: rapid.Bool().Draw(t, "burn rate"),
		ReturnWhenCold: rapid.Bool().Draw(t, "when cold"), CacheTTL: time.Duration(rapid.IntRange(0, 2).Draw(t, "ttl")) * time.Hour,
		Hard: rapid.SampledFrom([]float64{0, 0.9, 0.98}).Draw(t, "hard"),
	}
}

func anyMembers(t *rapid.T, least int) []Member {
	members := make([]Member, rapid.IntRange(least, 6).Draw(t, "members"))
	for i := range members {
		name := fmt.Sprintf("m%d", i)
		h := anyHealth(t)
		h.Paused = rapid.IntRange(0, 4).Draw(t, "paused") == 0
		members[i] = NewMember(Account{
			Name: name, Key: keyOf(name), Soft: softOf(t), Caps: capsOf(t),
			Priority: rapid.IntRange(0, 1).Draw(t, "priority"),
			Disabled: rapid.IntRange(0, 4).Draw(t, "disabled") == 0,
		}, &h)
	}
	return members
}

func anyQuery(t *rapid.T, members []Member) Query {
	q := Query{
		Criteria: Criteria{Scope: FableIf(rapid.Bool().Draw(t, "fable")), ToolScope: FableIf(rapid.Bool().Draw(t, "advisor"))}, Policy: policyOf(t), Turn: rapid.Uint64Range(0, 9).Draw(t, "turn"),
	}
	if rapid.Bool().Draw(t, "has session") {
		q.Session = SessionOf(rapid.StringMatching("[a-z]{3}").Draw(t, "session"))
		q.Last = keyOf(fmt.Sprintf("m%d", rapid.IntRange(0, 7).Draw(t, "last")))
		if rapid.Bool().Draw(t, "served before") {
			q.Since = moment(t, "since")
		}
		q.Advised = keyOf(fmt.Sprintf("m%d", rapid.IntRange(0, 7).Draw(t, "advised")))
	}
	for i := range members {
		if rapid.IntRange(0, 4).Draw(t, "tried") == 0 {
			q.Tried = append(q.Tried, members[i].Key)
		}
	}
	return q
}

func names(ranked []Ranked) []string {
	var all []string
	for _, r := range ranked {
		all = append(all, r.Member.Name)
	}
	return all
}

// mayServe is an independent check of who is in the list: enabled, unpaused and below every cap (SEL-11, CAP-2).
func mayServe(m *Member, scope quota.Scope, now time.Time) bool {
	known := m.Health.Quota
	known.Expire(now)
	for w := range quota.MaxWindows {
		used, observed := known.Utilization(w)
		counts := w != FableWeek || scope == Fable
		if observed && counts && m.Caps.Set.Has(w) && used >= m.Caps.At[w] {
			return false
		}
	}
	return !m.Disabled && !m.Health.Paused
}

// SEL-11: quota, cooldowns and stickiness reorder the list; they neither drop nor repeat an identity. Only a cap, a pause and
// being disabled take one out of it.
func TestLawEachIdentityOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := anyMembers(t, 0)
		q, now := anyQuery(t, members), moment(t, "now")
		var want []string
		for i := range members {
			if m := &members[i]; mayServe(m, q.Scope, now) && !slices.Contains(q.Tried, m.Key) {
				want = append(want, m.Name)
			}
		}
		got := names(Order(members, q, now))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v in some order", got, want)
		}
	})
}

// SEL-3: a choice changes nothing, and equal input gives equal output; with a session also in any listed order.
func TestLawDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := anyMembers(t, 0)
		q, now := anyQuery(t, members), moment(t, "now")
		var before []Health
		for _, m := range members {
			before = append(before, *m.Health)
		}
		first := names(Order(members, q, now))
		if again := names(Order(members, q, now)); !slices.Equal(first, again) {
			t.Fatalf("first %v, then %v", first, again)
		}
		for i, m := range members {
			if *m.Health != before[i] {
				t.Fatalf("ordering changed %s", m.Name)
			}
		}
		if q.Session != 0 {
			shuffled := rapid.Permutation(members).Draw(t, "shuffled")
			if other := names(Order(shuffled, q, now)); !slices.Equal(first, other) {
				t.Fatalf("listed otherwise: %v became %v", first, other)
			}
		}
	})
}

// SEL-2b, SEL-3, SEL-10: who leads, and that only a leader comes before an identity of a better group. Without a plan the two
// near groups are one.
func TestLawLeadThenGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := anyMembers(t, 1)
		q, now := anyQuery(t, members), moment(t, "now")
		ranked := Order(members, q, now)
		tier := [...]int{Free: 0, Near: 1, OverHard: 1, NoLogin: 3, CoolingDown: 4}
		if q.Policy.Planned {
			tier[OverHard] = 2
		}
		// SEL-4b: those that are also free for Fable requests come before all others, and only they lead.
		eligible := func(r *Ranked) bool { return r.Group == Free }
		if q.ToolScope == Fable && q.Scope != Fable {
			fable := q
			fable.Scope = Fable
			both := func(r Ranked) bool { return r.Group == Free && rank(r.Member, &fable, now).Group == Free }
			if n := len(slices.DeleteFunc(slices.Clone(ranked), func(r Ranked) bool { return !both(r) })); n > 0 {
				for i := range ranked {
					if both(ranked[i]) != (i < n) {
						t.Fatalf("%s is in place %d of %v, %d are free for Fable", ranked[i].Member.Name, i, names(ranked), n)
					}
				}
				eligible = func(r *Ranked) bool { return both(*r) }
			}
		}
		var home, last, advised *Ranked
		for i := range ranked {
			r := &ranked[i]
			if i > 0 && r.Why() != "" {
				t.Fatalf("%s leads from place %d", r.Member.Name, i)
			}
			if i > 1 && tier[ranked[i-1].Group] > tier[r.Group] {
				t.Fatalf("%v before %v", ranked[i-1].Group, r.Group)
			}
			if _, at := order(members, &q, now); int(r.listed) == at {
				home = r
			}
			if r.Member.Key == q.Last {
				last = r
			}
			if r.Member.Key == q.Advised && q.ToolScope == Fable && q.Scope != Fable {
				advised = r
			}
		}
		var want *Ranked
		// STR-6: a warm session does not return to its home, unless that was cleared.
		stays := home != nil && q.Policy.ReturnWhenCold && q.warm(now) && home.Member.Health.cleared.Before(q.Since)
		switch {
		case stays && last != nil && eligible(last):
			want = last
		case home != nil && eligible(home):
			want = home
		case last != nil && eligible(last):
			want = last
		case advised != nil && eligible(advised):
			want = advised
		}
		switch {
		case want != nil && want != &ranked[0]:
			t.Fatalf("%s should lead %v", want.Member.Name, names(ranked))
		case want == nil && len(ranked) > 0 && ranked[0].Why() != "":
			t.Fatalf("%s leads for %s", ranked[0].Member.Name, ranked[0].Why())
		}
	})
}

// SEL-10, SEL-21: with a plan, headroom orders those of one group and priority, except for the leader.
func TestLawHeadroomOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := anyMembers(t, 2)
		q, now := anyQuery(t, members), moment(t, "now")
		q.Policy.Planned = true
		ranked := Order(members, q, now)
		headroom := func(r *Ranked) float64 {
			known := r.Member.Health.Quota
			known.Expire(now)
			limits := r.Member.Soft
			if hard := q.Policy.hard(); r.Group == Near { // STR-5
				limits = quota.Thresholds{hard, hard, hard}
			}
			return known.Headroom(q.Scope, limits, now)
		}
		for i := 1; i < len(ranked); i++ {
			a, b := &ranked[i-1], &ranked[i]
			if a.leads() || a.behind != b.behind || a.Group != b.Group || a.Group >= NoLogin {
				continue
			}
			if a.Member.Priority > b.Member.Priority {
				t.Fatalf("priority %d before %d", a.Member.Priority, b.Member.Priority)
			}
			if a.Member.Priority == b.Member.Priority && headroom(a) < headroom(b) {
				t.Fatalf("headroom %v before %v", headroom(a), headroom(b))
			}
		}
	})
}

// SEL-6, SEL-22: raising a threshold never moves an account to a later group.
func TestLawThresholds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := anyHealth(t)
		low, high := softOf(t), softOf(t)
		for w := range low {
			low[w], high[w] = min(low[w], high[w]), max(low[w], high[w])
		}
		q, now := anyQuery(t, nil), moment(t, "now")
		before := rank(&Member{Account: Account{Soft: low}, Health: &h}, &q, now).Group
		after := rank(&Member{Account: Account{Soft: high}, Health: &h}, &q, now).Group
		if after > before {
			t.Fatalf("%v at %v became %v at %v", before, low, after, high)
		}
	})
}

// FO-3: no failure makes an account recover sooner, unless its response has readings (FO-12).
func TestLawCooldownsNeverShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, o, now := anyHealth(t), outcomeOf(t), moment(t, "now")
		for w := range o.Signal.Windows {
			o.Signal.Windows[w].HasUtilization = false
		}
		if o.Event == Success {
			o.Event = None
		}
		for _, scope := range []quota.Scope{NoScope, Fable} {
			before, _ := h.CooledUntil(scope, now)
			observed := Observe(h, o, quota.Thresholds{}, now)
			after, _ := observed.CooledUntil(scope, now)
			if after.Before(before) {
				t.Fatalf("%v: until %v, then until %v", o.Event, before, after)
			}
		}
	})
}

// FO-0c, FO-15, SEL-10: of those that cool down, the session's own is first, then the others by recovery. Those with a fault are
// one block in order of priority, where the first of them recovers.
func TestLawCoolingDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := anyMembers(t, 2)
		q, now := anyQuery(t, members), moment(t, "now")
		q.Tried = nil
		_, home := order(members, &q, now)
		until := func(m *Member) time.Time { u, _ := m.Health.CooledUntil(q.Scope, now); return u }
		var cooled []*Member
		for _, r := range Order(members, q, now) {
			if r.Group == CoolingDown {
				cooled = append(cooled, r.Member)
			}
		}
		own := func(m *Member) bool { return q.Session != 0 && m == &members[home] }
		if !slices.ContainsFunc(cooled, own) {
			own = func(m *Member) bool { return q.Session != 0 && m.Key == q.Last }
		}
		if i := slices.IndexFunc(cooled, own); i > 0 {
			t.Fatalf("the session's own is in place %d", i)
		} else if i == 0 {
			cooled = cooled[1:]
		}
		block := func(m *Member) bool { _, cause := m.Health.CooledUntil(q.Scope, now); return cause.isFault() }
		var first time.Time // of the block
		for _, m := range cooled {
			if block(m) && (first.IsZero() || until(m).Before(first)) {
				first = until(m)
			}
		}
		place := func(m *Member) time.Time {
			if block(m) {
				return first
			}
			if _, cause := m.Health.CooledUntil(q.Scope, now); cause.kind() == ofCredential {
				return until(m).AddDate(1, 0, 0) // after all others (ERR-2b)
			}
			return until(m)
		}
		for i := 1; i < len(cooled); i++ {
			a, b := cooled[i-1], cooled[i]
			switch {
			case place(a).After(place(b)):
				t.Fatalf("%v before %v", place(a).Sub(now), place(b).Sub(now))
			case block(b) && !block(a) && place(a).Equal(first):
				t.Fatal("one that recovers no sooner is before the block")
			case block(a) == block(b) && place(a).Equal(place(b)) && a.Priority > b.Priority:
				t.Fatalf("priority %d before %d", a.Priority, b.Priority)
			}
		}
	})
}

// SEL-1: an identity that joins or leaves moves only its own sessions, about 1/n of all.
func TestLawMovement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		salt := rapid.StringMatching("[a-z]{4}").Draw(t, "salt")
		members := make([]Member, n)
		for i := range members {
			members[i] = NewMember(Account{Key: keyOf(fmt.Sprint(salt, i))}, newHealth())
		}
		const sessions = 4000
		moved := 0
		for i := range sessions {
			s := SessionOf(fmt.Sprint(salt, "-", i))
			without, with := homeOf(members[:n-1], s), homeOf(members, s)
			if with == n-1 {
				moved++
			} else if with != without {
				t.Fatalf("session %d moved from %d to %d", i, without, with)
			}
		}
		expected := float64(sessions) / float64(n)
		if d := float64(moved) - expected; d*d > 36*expected { // six standard deviations
			t.Fatalf("%d of %d sessions moved to one of %d", moved, sessions, n)
		}
	})
}
