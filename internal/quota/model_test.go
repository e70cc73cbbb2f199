package quota_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/internal/quota"
)

// model is QUO-1, QUO-10 to QUO-15 and QUO-23 word for word, in seconds, with nil for what is not known.
type model struct {
	windows     [quota.MaxWindows]modelWindow
	aggregate   string
	aggregateAt int64
	aggregateTo *int64 // the reset of one that rejected alone (QUO-1)
}

type modelWindow struct {
	utilization       *float64
	reset, observedAt *int64
	status            string
	observedAtStatus  int64
	resetAtStatus     *int64
}

var lengths = [quota.MaxWindows]int64{18_000, 604_800, 604_800}

func (m *model) expire(now int64) {
	for i := range m.windows {
		w := &m.windows[i]
		if w.reset != nil && *w.reset <= now {
			w.utilization, w.reset, w.observedAt = nil, nil, nil
		}
		if w.observedAt != nil && *w.observedAt+lengths[i] <= now {
			w.utilization, w.observedAt = nil, nil
		}
		if w.status != "" && (w.observedAtStatus+lengths[i] <= now || w.resetAtStatus != nil && *w.resetAtStatus <= now) {
			w.status, w.resetAtStatus = "", nil
		}
	}
	if m.aggregate != "" && (m.aggregateAt+604_800 <= now || m.aggregateTo != nil && *m.aggregateTo <= now) {
		m.aggregate, m.aggregateTo = "", nil
	}
}

func (m *model) respond(sig quota.Signal, now int64) {
	m.expire(now)
	for i, ws := range sig.Windows {
		w := &m.windows[i]
		if !ws.Reset.IsZero() {
			w.reset = new(ws.Reset.Unix())
		}
		if ws.HasUtilization {
			w.utilization, w.observedAt = new(ws.Utilization), new(now)
		}
		if ws.Status != "" {
			w.status, w.observedAtStatus, w.resetAtStatus = ws.Status, now, w.reset
		}
	}
	if sig.Status != "" {
		m.aggregate, m.aggregateAt, m.aggregateTo = sig.Status, now, nil
		silent := sig.Windows[0].Status == "" && sig.Windows[1].Status == "" && sig.Windows[2].Status == ""
		if reset := sig.Reset.Unix(); sig.Status == "rejected" && silent && reset > now {
			m.aggregateTo = &reset
		}
	}
}

func (m *model) poll(u quota.Usage, now int64) {
	m.expire(now)
	for i, wu := range u.Windows {
		if !wu.Has {
			continue
		}
		w := &m.windows[i]
		w.utilization, w.observedAt = new(wu.Utilization), new(now)
		if !wu.Reset.IsZero() {
			w.reset = new(wu.Reset.Unix())
		}
	}
}

func (m *model) view(w int) view {
	v := view{status: m.windows[w].status}
	if u := m.windows[w].utilization; u != nil {
		v.used = *u
	}
	if r := m.windows[w].reset; r != nil {
		v.reset = time.Unix(*r, 0).Sub(start)
	}
	return v
}

// anyUsage is a response of the usage endpoint.
func anyUsage(t *rapid.T) quota.Usage {
	var u quota.Usage
	for w := range u.Windows {
		if rapid.Bool().Draw(t, "has") {
			u.Windows[w] = quota.WindowUsage{Utilization: rapid.SampledFrom([]float64{0, 0.3, 0.9}).Draw(t, "utilization"), Has: true}
		}
		if rapid.Bool().Draw(t, "has reset") {
			u.Windows[w].Reset = moment(t, "reset")
		}
	}
	return u
}

// QUO-10 to QUO-15, QUO-23: any sequence of responses, polls, starts of the process and passing time.
func TestLawModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := quota.NewState(table)
		var m model
		now := start
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "hours")) * time.Hour)
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				s.Expire(now)
			case 1:
				sig := signal(t)
				s.Record(sig, now, now)
				m.respond(sig, now.Unix())
			case 2:
				u := anyUsage(t)
				s.RecordUsage(u, now, now)
				m.poll(u, now.Unix())
			case 3:
				s.Expire(now)
				read := quota.Import(table, s.Export(), now)
				if s.Rejected(anyModel, soft) != read.Rejected(anyModel, soft) {
					t.Fatalf("rejected %v, not once it was read", s.Rejected(anyModel, soft))
				}
				if s = read; s.Aggregate() == "" {
					m.aggregate, m.aggregateTo = "", nil // a status without effect may be dropped
				}
			}
			s.Expire(now)
			m.expire(now.Unix())
			for w := range quota.MaxWindows {
				if got, want := viewOf(s, w), m.view(w); got != want {
					t.Fatalf("%v: got %+v, want %+v", w, got, want)
				}
			}
			if got := s.Aggregate(); got != m.aggregate {
				t.Fatalf("aggregate %q, want %q", got, m.aggregate)
			}
		}
	})
}

// aHistory returns the state after some responses in order of time, each to a request of the same second, and the time of the
// last.
func aHistory(t *rapid.T) (s quota.State, now time.Time) {
	s, now = quota.NewState(table), start
	for range rapid.IntRange(0, 6).Draw(t, "events") {
		now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "hours")) * time.Hour)
		if rapid.Bool().Draw(t, "polled") {
			s.RecordUsage(anyUsage(t), now, now)
		} else {
			s.Record(signal(t), now, now)
		}
	}
	s.Expire(now)
	return s, now
}

// QUO-34, QUO-36: export and import change nothing that can be read, now or later, except for an aggregate that a window's
// status has masked: it does not come back when that has expired.
func TestLawExportImport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := aHistory(t)
		record := s.Export()
		read := quota.Import(table, record, now)
		if again := read.Export(); again != record {
			t.Fatalf("written %+v\nthen    %+v", record, again)
		}
		for _, scope := range []quota.Scope{anyModel, fableOnly} {
			if a, b := s.Rejected(scope, soft), read.Rejected(scope, soft); a != b {
				t.Fatalf("rejected %v became %v", a, b)
			}
		}
		later := now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "later")) * time.Hour)
		s.Expire(later)
		read.Expire(later)
		for w := range quota.MaxWindows {
			if a, b := viewOf(s, w), viewOf(read, w); a != b {
				t.Fatalf("%v: %+v became %+v", w, a, b)
			}
		}
		if read.Rejected(anyModel, soft) && !s.Rejected(anyModel, soft) {
			t.Fatal("a rejection came back")
		}
	})
}

// QUO-35, QUO-36: once any version-2 record has been migrated and imported, the rewritten one is read unchanged.
func TestLawMigration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := aHistory(t)
		old := s.Export()
		for w := range old.Windows {
			old.Windows[w].ObservedAtStatus, old.Windows[w].ResetAtStatus = time.Time{}, time.Time{}
		}
		old.ObservedAtStatus, old.ResetAtStatus = time.Time{}, time.Time{}
		now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "later")) * time.Hour)
		old.Migrate(now)
		migrated := quota.Import(table, old, now)
		rewritten := migrated.Export()
		if read := quota.Import(table, rewritten, now); read.Export() != rewritten {
			t.Fatalf("rewritten %+v\nthen      %+v", rewritten, read.Export())
		}
		for w := range quota.MaxWindows {
			if migrated.Status(w) != "" && rewritten.Windows[w].ObservedAtStatus.IsZero() {
				t.Fatalf("%v has a status without a stamp", w)
			}
		}
	})
}
