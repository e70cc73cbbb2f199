package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/clock"
	"shunt/internal/observe"
)

var traced = time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC)

func record(after time.Duration, session, model string, prompt, read int64) observe.Record {
	return observe.Record{
		Time: traced.Add(after), RequestID: "r", Session: session, Path: "/v1/messages", Account: "work", Model: model, Status: 200,
		BytesIn: 4 * prompt, Tokens: &observe.Tokens{Input: prompt - read, CacheRead: read, Output: 100},
	}
}

// written returns a log as `shunt run` writes it.
func written(t *testing.T, records ...observe.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	log, err := observe.OpenRequestLog(path, observe.NewHealth(observe.NewLogger(os.Stderr, nil, "text", false), clock.Clock{}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		log.Write(&records[i])
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// SIM-1: a request log becomes the demand in it.
func TestReplay(t *testing.T) {
	const minute = time.Minute
	refused := record(8*minute, "aaaaaaaa", "claude-sonnet-4-5", 2200, 0)
	refused.Status, refused.Tokens = 429, nil
	invalid := record(0, "aaaaaaaa", "claude-sonnet-4-5", 10, 0)
	invalid.Status = 400
	counted := record(0, "aaaaaaaa", "claude-sonnet-4-5", 10, 0)
	counted.Path = "/v1/messages/count_tokens"
	gone := record(0, "aaaaaaaa", "claude-sonnet-4-5", 10, 0)
	gone.Status = 0
	other := record(20*minute, "bbbbbbbb", "Claude-FABLE-5", 1000, 0)
	other.Account = "spare"
	log := written(t,
		record(4*minute, "aaaaaaaa", "claude-sonnet-4-5", 1500, 1000), // written before an earlier one, as they end
		record(0, "aaaaaaaa", "claude-sonnet-4-5", 1000, 0),
		record(5*minute, "aaaaaaaa", "claude-sonnet-4-5", 700, 0), // a sub-agent
		record(6*minute, "aaaaaaaa", "claude-sonnet-4-5", 2000, 1500),
		record(6*minute+1, "aaaaaaaa", "claude-haiku-4-5", 2100, 0), // another model has no cache of it
		record(7*minute, "aaaaaaaa", "claude-sonnet-4-5", 900, 700),
		refused, invalid, counted, gone,
		record(14*minute, "aaaaaaaa", "claude-sonnet-4-5", 2400, 0), // too late for the cache
		record(15*minute, "", "claude-opus-4-5", 500, 0),
		record(15*minute, "", "claude-opus-4-5", 600, 0), // no session, no conversation
		other,
	)
	log += "{\"time\":\"2026-03-04T10:\n\n" // torn by a full disk
	o := Defaults()
	o.Plans, o.Trace, o.Demand = nil, "requests.jsonl", 0.5
	w, err := replayed(strings.NewReader(log), &o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range w.turns {
		u := &w.turns[i]
		got = append(got, fmt.Sprintf("%v s%d t%d %v prompt %d, %d, work %.0f", u.at.Truncate(minute), u.session, u.thread, u.fable, u.prompt, u.output, u.work))
	}
	want := []string{
		"30m0s s0 t0 false prompt 1000, 100, work 1750",
		"34m0s s0 t0 false prompt 1500, 100, work 1225",
		"35m0s s0 t1 false prompt 700, 100, work 1375",
		"36m0s s0 t0 false prompt 2000, 100, work 1275",
		"36m0s s0 t2 false prompt 2100, 100, work 1042",
		"37m0s s0 t1 false prompt 900, 100, work 820",
		"38m0s s0 t0 false prompt 2200, 400, work 2450",
		"44m0s s0 t3 false prompt 2400, 100, work 3500",
		"45m0s s-1 t4 false prompt 500, 100, work 1875",
		"45m0s s-1 t5 false prompt 600, 100, work 2083",
		"50m0s s1 t6 true prompt 1000, 100, work 3500",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w.start != traced.Truncate(time.Hour) || w.length != time.Hour || w.sessions != 2 || w.threads != 7 || w.skipped != 1 {
		t.Errorf("from %v for %v, %d sessions, %d threads, %d lines skipped", w.start, w.length, w.sessions, w.threads, w.skipped)
	}
	if len(w.accounts) != 2 || !near(w.work, 0.5*w.capacity) {
		t.Errorf("%d accounts, %v of %v", len(w.accounts), w.work, w.capacity)
	}

	o.Plans = []float64{2, 1, 1}
	c, err := Replay(strings.NewReader(log), o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Turns != 11 || c.Skipped != 1 || c.Options.Days != 1 || len(c.Accounts) != 3 {
		t.Errorf("%+v", c)
	}
	for _, r := range c.Results {
		if r.Answered+r.Limited != 11 || r.Policy == Planned && r.Moves > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A file that is not a log, an empty one and one that spans decades are errors that state the reason.
func TestReplayErrors(t *testing.T) {
	old := record(0, "a", "m", 10, 0)
	old.Time = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct{ log, want string }{
		"empty":  {"", "no request for a message"},
		"others": {"[1, 2]\n{\"a\":1}\n", "no request for a message"},
		"long":   {written(t, old, record(0, "a", "m", 10, 0)), "days"},
		"a line": {strings.Repeat("x", longestLine+1), "too long"},
	} {
		if _, err := Replay(strings.NewReader(test.log), Defaults()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
