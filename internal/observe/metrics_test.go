package observe_test

import (
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"shunt/internal/observe"
)

// everything returns a request that every metric counts.
func everything() *observe.Record {
	return &observe.Record{
		Time: time.Unix(1_800_000_000, 0), RequestID: "req_1", Path: "/v1/messages", Session: "abcdef01", Client: "ann",
		Provider: "anthropic", Account: "home", Model: "claude-x", Stream: true, Status: 200, End: observe.Truncated, TruncationCause: observe.UpstreamIdle, Attempts: 2,
		Calls: []observe.Call{
			{Provider: "anthropic", Account: "work", Model: "claude-x", Began: time.Unix(1_800_000_000, 0), Head: time.Second, Took: 2 * time.Second, Status: 429, Result: "rejected"},
			{Provider: "anthropic", Account: "home", Model: "claude-x", Began: time.Unix(1_800_000_002, 0), Head: time.Second, Status: 200, Result: "success"},
		},
		Rotations: []observe.Rotation{{Provider: "anthropic", From: "work", Reason: "rejected"}, {From: "first", Reason: "429"}},
		Dropped:   observe.Dropped{Reasoning: 3, State: 1},
		Move:      &observe.Move{From: "work", To: "home", Reason: "failover"},
		TTFB:      observe.Millis(3 * time.Second), Duration: observe.Millis(9 * time.Second), BytesIn: 10, BytesOut: 20,
		Tokens: &observe.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheCreation: 4},
	}
}

func sources() observe.Sources {
	return observe.Sources{
		InFlight: func() int64 { return 3 }, LostLines: func() int64 { return 4 }, Conditions: func() int { return 1 },
		PoolAccounts: func() []observe.PoolAccount {
			return []observe.PoolAccount{
				{Provider: "anthropic", Account: "home", Available: true, InFlight: 2, Windows: []observe.PoolWindow{
					{Name: "5h", Utilization: 0.25, HasUtilization: true, Reset: time.Unix(1_800_000_000, 0), Soft: 0.9, Headroom: 120},
					{Name: "7d", Soft: 0.98, Headroom: math.Inf(1)},
				}},
				{Provider: "anthropic", Account: "work", Cooldown: 90 * time.Second},
			}
		},
	}
}

func scrape(m *observe.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// OBS-2: the names, labels and units of all metrics.
func TestMetrics(t *testing.T) {
	m := observe.NewMetrics("1.2.3", sources())
	m.Count(everything())
	m.Count(&observe.Record{Provider: "anthropic", End: observe.ClientGone})
	m.Count(&observe.Record{Provider: "anthropic", Account: "home", Status: 200, End: observe.Failed, StreamError: "overloaded_error"})
	m.Refreshed("anthropic", "home", "success")
	text := scrape(m)
	for _, line := range strings.Split(strings.TrimSpace(`
shunt_build_info{version="1.2.3"} 1
shunt_requests_total{provider="anthropic",status="200"} 2
shunt_requests_total{provider="anthropic",status="none"} 1
shunt_requests_in_flight 3
shunt_request_duration_seconds_sum{provider="anthropic",stream="true"} 9
shunt_request_first_byte_seconds_sum{provider="anthropic",stream="true"} 3
shunt_request_first_byte_seconds_bucket{provider="anthropic",stream="true",le="2"} 0
shunt_request_first_byte_seconds_bucket{provider="anthropic",stream="true",le="4"} 1
shunt_upstream_attempts_total{account="home",provider="anthropic",reason="success"} 1
shunt_upstream_attempts_total{account="work",provider="anthropic",reason="rejected"} 1
shunt_upstream_response_seconds_count{provider="anthropic"} 2
shunt_rotations_total{account="work",provider="anthropic",reason="rejected"} 1
shunt_rotations_total{account="",provider="first",reason="429"} 1
shunt_dropped_total{kind="reasoning",provider="anthropic"} 3
shunt_dropped_total{kind="state",provider="anthropic"} 1
shunt_session_moves_total{provider="anthropic",reason="failover"} 1
shunt_streams_cut_total{account="home",cause="upstream_idle",provider="anthropic"} 1
shunt_stream_errors_total{account="home",provider="anthropic",type="overloaded_error"} 1
shunt_clients_gone_total{provider="anthropic"} 1
shunt_tokens_total{account="home",kind="input",model="claude-x",provider="anthropic"} 1
shunt_tokens_total{account="home",kind="output",model="claude-x",provider="anthropic"} 2
shunt_tokens_total{account="home",kind="cache_read",model="claude-x",provider="anthropic"} 3
shunt_tokens_total{account="home",kind="cache_creation",model="claude-x",provider="anthropic"} 4
shunt_refreshes_total{account="home",provider="anthropic",result="success"} 1
shunt_request_log_lost_lines_total 4
shunt_conditions 1
shunt_account_available{account="home",provider="anthropic"} 1
shunt_account_available{account="work",provider="anthropic"} 0
shunt_account_cooldown_seconds{account="work",provider="anthropic"} 90
shunt_account_requests_in_flight{account="home",provider="anthropic"} 2
shunt_account_utilization_ratio{account="home",provider="anthropic",window="5h"} 0.25
shunt_account_threshold_ratio{account="home",provider="anthropic",window="7d"} 0.98
shunt_account_reset_timestamp_seconds{account="home",provider="anthropic",window="5h"} 1.8e+09
shunt_account_headroom_seconds{account="home",provider="anthropic",window="5h"} 120
shunt_account_headroom_seconds{account="home",provider="anthropic",window="7d"} +Inf`), "\n") {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	for _, unknown := range []string{`shunt_account_utilization_ratio{account="home",provider="anthropic",window="7d"}`, "req_1", "abcdef01", "ann\""} {
		if strings.Contains(text, unknown) {
			t.Errorf("shown: %s", unknown)
		}
	}
	for _, family := range []string{"go_goroutines ", "process_resident_memory_bytes "} {
		if !strings.Contains(text, "\n"+family) {
			t.Errorf("missing: %s", family)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// OBS-2: clients cannot create an unlimited number of series, or a label that breaks the scrape.
func TestModelLabels(t *testing.T) {
	m := observe.NewMetrics("", sources())
	models := []string{"\xff\"\n", strings.Repeat("x", 10_000)}
	for i := range 200 {
		models = append(models, fmt.Sprint("model-", i))
	}
	for range 2 {
		for _, model := range models {
			m.Count(&observe.Record{Model: model, Tokens: &observe.Tokens{Input: 1}})
		}
	}
	text := scrape(m)
	if n := strings.Count(text, `kind="input"`); n != 51 {
		t.Errorf("%d series", n)
	}
	for _, line := range []string{
		`shunt_tokens_total{account="",kind="input",model="?\"\n",provider=""} 2`,
		`shunt_tokens_total{account="",kind="input",model="other",provider=""} 304`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(text, strings.Repeat("x", 300)) {
		t.Error("a long label")
	}
}

// OBS-1, OBS-2: neither can upstreams, by the types of their errors.
func TestErrorTypeLabels(t *testing.T) {
	m := observe.NewMetrics("", sources())
	for range 2 {
		for i := range 100 {
			m.Count(&observe.Record{End: observe.Failed, StreamError: fmt.Sprint("type_", i)})
		}
	}
	text := scrape(m)
	if n := strings.Count(text, "shunt_stream_errors_total{"); n != 21 {
		t.Errorf("%d series", n)
	}
	if line := `shunt_stream_errors_total{account="",provider="",type="other"} 160`; !strings.Contains(text, line+"\n") {
		t.Errorf("missing: %s", line)
	}
}

// OBS-2: metrics are scraped and counted concurrently.
func TestScrapeUnderLoad(t *testing.T) {
	m := observe.NewMetrics("", sources())
	var load sync.WaitGroup
	for g := range 8 {
		load.Go(func() {
			for i := range 200 {
				r := everything()
				r.Model = fmt.Sprint(g, i)
				m.Count(r)
				m.Refreshed("anthropic", fmt.Sprint(g), "failed")
			}
		})
	}
	for range 20 {
		scrape(m)
	}
	load.Wait()
	if text := scrape(m); !strings.Contains(text, `shunt_requests_total{provider="anthropic",status="200"} 1600`) {
		t.Error(text)
	}
}

func BenchmarkCount(b *testing.B) {
	m, r := observe.NewMetrics("", sources()), everything()
	r.Calls, r.Rotations, r.Move, r.End = r.Calls[1:], nil, nil, ""
	b.ReportAllocs()
	for b.Loop() {
		m.Count(r)
	}
}
