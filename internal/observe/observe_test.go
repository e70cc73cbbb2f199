package observe_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"shunt/internal/clock"
	"shunt/internal/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// OBS-1: the log is text on a terminal and JSON otherwise, unless the configuration sets the format; the level filters.
func TestLoggerFormat(t *testing.T) {
	for _, c := range []struct {
		format string
		tty    bool
		want   string
	}{
		{"auto", true, `level=WARN msg=slow took=1.5s` + "\n"},
		{"auto", false, `"level":"WARN","msg":"slow","took":"1.5s"}` + "\n"},
		{"text", false, `level=WARN msg=slow took=1.5s` + "\n"},
		{"json", true, `"level":"WARN","msg":"slow","took":"1.5s"}` + "\n"},
	} {
		var out bytes.Buffer
		log := observe.NewLogger(&out, slog.LevelWarn, c.format, c.tty)
		log.Info("hidden")
		log.Warn("slow", "took", 1500*time.Millisecond)
		if got := out.String(); !strings.HasSuffix(got, c.want) || strings.Contains(got, "hidden") {
			t.Errorf("format %q, tty %v: %s", c.format, c.tty, got)
		}
	}
}

// A condition is logged when it begins and when it ends, no matter how often its component sets and clears it.
func TestHealthTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		health := observe.NewHealth(observe.NewLogger(&out, slog.LevelInfo, "text", false), clock.Clock{})
		began := time.Now()
		health.Set("b", "first")
		time.Sleep(time.Minute)
		health.Set("b", "second")
		health.Set("a", "")
		health.Clear("never set")

		want := []observe.Condition{{Name: "a", Since: began.Add(time.Minute)}, {Name: "b", Detail: "second", Since: began}}
		if diff := cmp.Diff(want, health.List()); diff != "" {
			t.Error(diff)
		}
		health.Clear("b")
		health.Clear("b")
		health.Clear("a")
		if left := health.List(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		var lines []string
		for line := range strings.Lines(out.String()) {
			_, line, _ = strings.Cut(strings.TrimSpace(line), "level=")
			lines = append(lines, line)
		}
		wantLines := []string{
			`WARN msg="condition began" condition=b detail=first`,
			`WARN msg="condition began" condition=a detail=""`,
			`INFO msg="condition ended" condition=b lasted=1m0s`,
			`INFO msg="condition ended" condition=a lasted=0s`,
		}
		if diff := cmp.Diff(wantLines, lines); diff != "" {
			t.Error(diff)
		}
	})
}

func whole() observe.Record {
	return observe.Record{
		Time: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), RequestID: "r-1", Session: "0a1b2c3d", Path: "/v1/messages",
		Provider: "anthropic", Account: "home", Why: "sticky", Model: "claude-sonnet-4-5", Stream: true, Status: 200,
		End: observe.Truncated, StreamError: "overloaded_error", TruncationCause: observe.UpstreamIdle, Error: "cut", Attempts: 2, Rotations: []observe.Rotation{{From: "work", Reason: "rejected"}},
		Move: &observe.Move{From: "work", To: "home", Reason: "failover"},
		TTFB: observe.Millis(1500 * time.Microsecond), Duration: observe.Millis(2 * time.Second), BytesIn: 115000, BytesOut: 900,
		Tokens: &observe.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheCreation: 4},
	}
}

const wholeJSON = `"request_id":"r-1","session":"0a1b2c3d","path":"/v1/messages","provider":"anthropic","account":"home",` +
	`"why":"sticky","model":"claude-sonnet-4-5","stream":true,"status":200,"end":"cut","stream_error":"overloaded_error","cut_cause":"upstream_idle","error":"cut","attempts":2,` +
	`"rotations":[{"from":"work","reason":"rejected"}],"move":{"from":"work","to":"home","reason":"failover"},"ttfb_ms":1.5,"duration_ms":2000,"bytes_in":115000,"bytes_out":900,` +
	`"tokens":{"input":1,"output":2,"cache_read":3,"cache_creation":4}}`

// OBS-1: the simulator reads the JSON form (SIM-1), and the log line uses the same names.
func TestRecordForms(t *testing.T) {
	record := whole()
	encoded, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"time":"2026-05-01T12:00:00Z",` + wholeJSON; string(encoded) != want {
		t.Errorf("got  %s\nwant %s", encoded, want)
	}
	var back observe.Record
	if err := json.Unmarshal(encoded, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record, back); diff != "" {
		t.Error(diff)
	}

	var out bytes.Buffer
	record.Log(t.Context(), observe.NewLogger(&out, slog.LevelInfo, "json", false))
	if !strings.HasSuffix(out.String(), `"msg":"request",`+wholeJSON+"\n") {
		t.Errorf("logged %s", out.String())
	}
	out.Reset()
	record.Log(t.Context(), observe.NewLogger(&out, slog.LevelInfo, "text", false))
	if !strings.Contains(out.String(), ` rotations="[work: rejected]" move.from=work move.to=home move.reason=failover ttfb_ms=1.5 duration_ms=2000 `) {
		t.Errorf("logged %s", out.String())
	}
	out.Reset()
	record.Log(t.Context(), observe.NewLogger(&out, slog.LevelWarn, "text", false))
	if out.Len() != 0 {
		t.Errorf("logged at warn: %s", out.String())
	}
}

// RTE-2, OBS-1: clients, upstreams and networks choose the strings of a record, but not its size.
func TestRecordIsBounded(t *testing.T) {
	long := strings.Repeat("x", 255) + "é" + strings.Repeat("y", 1<<20)
	record := whole()
	record.Path, record.Model, record.Error, record.StreamError = long, long, long, long
	record.Calls = []observe.Call{{Model: long}}
	record.Rotations = []observe.Rotation{{From: "work", Reason: "unreachable", Error: long}}
	record.Bound()
	name, message := strings.Repeat("x", 255)+"...", long[:1024]+"..."
	want := whole()
	want.Path, want.Model, want.Error, want.StreamError = name, name, message, name
	want.Calls = []observe.Call{{Model: name}}
	want.Rotations = []observe.Rotation{{From: "work", Reason: "unreachable", Error: message}}
	if diff := cmp.Diff(want, record); diff != "" {
		t.Errorf("-want +got:\n%.2000s", diff)
	}

	short := whole()
	short.Bound()
	if diff := cmp.Diff(whole(), short); diff != "" {
		t.Errorf("a short record changed: %s", diff)
	}
}
