package app_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracing "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"shunt/internal/app"
	"shunt/internal/apptest"
	"shunt/internal/config"
	"shunt/internal/dialect/messages"
	"shunt/internal/observe/observetest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

const (
	adminToken = "the-admin-token-of-the-operators"
	readKey    = "a-key-that-may-read-0123456789-abcdef"
	surface    = "[server.admin]\n[[server.admin.read_keys]]\nid = \"prometheus\"\nkey = \"${READ_KEY}\"\n"
)

func withAdmin(w *world) {
	w.Env = append(w.Env, "SHUNT_ADMIN_TOKENS=ops:"+adminToken, "READ_KEY="+readKey)
}

// scrape gets the metrics of the gateway with these headers, given as pairs.
func (w *world) scrape(method string, headers ...string) (status int, text string) {
	w.Helper()
	request, err := http.NewRequest(method, simtest.GatewayURL+"/metrics", nil)
	if err != nil {
		w.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := w.Client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// OBS-2: the metrics count requests and show the state of accounts.
func TestMetricsOfAPool(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, surface+apptest.PoolOf(""), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject(home, sim.Rejected(messages.FiveHour).RetryAfter("600").Times(1))
		away := w.MustServe("s", simtest.PlainModel)
		w.Provider.Fill(away, messages.FiveHour, 0.25)
		w.Provider.Inject(away, sim.Abort(2).Times(1))
		w.Request("s", simtest.PlainModel, true)
		w.Request("s", "unknown-model", false)
		w.Post(context.Background(), sim.MessagesPath, "s", "no JSON")
		w.Provider.ExpireTokens(away)
		w.Provider.Inject(away, sim.SlowFirstEvent(4*time.Second).Times(1))
		w.MustServe("s", simtest.PlainModel)
		w.Last()

		status, text := w.scrape("GET", "Authorization", "Bearer "+readKey)
		w.Want("status", status, http.StatusOK)
		for _, line := range []string{
			`shunt_build_info{version="test"} 1`,
			`shunt_requests_total{provider="anthropic",status="200"} 4`,
			`shunt_requests_total{provider="anthropic",status="404"} 1`,
			`shunt_requests_total{provider="",status="400"} 1`,
			`shunt_requests_in_flight 0`,
			`shunt_upstream_attempts_total{account="HOME",provider="anthropic",reason="success"} 1`,
			`shunt_upstream_attempts_total{account="HOME",provider="anthropic",reason="rejected"} 1`,
			`shunt_upstream_attempts_total{account="AWAY",provider="anthropic",reason="success"} 3`,
			`shunt_upstream_attempts_total{account="AWAY",provider="anthropic",reason="passed"} 1`,
			`shunt_upstream_attempts_total{account="AWAY",provider="anthropic",reason="unauthorized"} 1`,
			`shunt_rotations_total{account="HOME",provider="anthropic",reason="rejected"} 1`,
			`shunt_session_moves_total{provider="anthropic",reason="failover"} 1`,
			`shunt_streams_cut_total{account="AWAY",cause="upstream_ended",provider="anthropic"} 1`,
			`shunt_refreshes_total{account="AWAY",provider="anthropic",result="success"} 1`,
			`shunt_account_available{account="HOME",provider="anthropic"} 0`,
			`shunt_account_available{account="AWAY",provider="anthropic"} 1`,
			`shunt_account_cooldown_seconds{account="HOME",provider="anthropic"} 596`,
			`shunt_request_log_lost_lines_total 0`,
			`shunt_conditions 0`,
		} {
			line = strings.NewReplacer("HOME", home, "AWAY", away).Replace(line)
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("missing: %s", line)
			}
		}
		for _, series := range []string{
			`shunt_account_utilization_ratio{account="` + away + `",provider="anthropic",window="5h"} 0\.25`,
			`shunt_account_reset_timestamp_seconds{account="` + away + `",provider="anthropic",window="7d"} 9\.`,
			`shunt_account_headroom_seconds{account="` + away + `",provider="anthropic",window="5h"} -1[0-9]+`,
			`shunt_tokens_total{account="` + away + `",kind="output",model="` + simtest.PlainModel + `",provider="anthropic"} [1-9]`,
			`shunt_upstream_response_seconds_count{provider="anthropic"} 7`,
			`shunt_request_first_byte_seconds_sum{provider="anthropic",stream="true"} 4`,
		} {
			if !regexp.MustCompile(`(?m)^` + strings.NewReplacer("{", `\{`, "}", `\}`).Replace(series)).MatchString(text) {
				t.Errorf("missing: %s", series)
			}
		}
		for _, secret := range []string{"unknown-model", w.Last().Session, "sk-ant", readKey, adminToken} {
			if strings.Contains(text, secret) {
				t.Errorf("the metrics show %q", secret)
			}
		}
		if t.Failed() {
			t.Log(regexp.MustCompile(`(?m)^(#|go_|process_).*\n`).ReplaceAllString(text, ""))
		}
	}, withAdmin)
}

// OBS-2, ADM-1: every credential of the admin surface may read the metrics; no other client may.
func TestMetricsCredential(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, surface+apptest.PoolOf(""), func(w *world) {
		for _, c := range []struct {
			status  int
			headers []string
		}{
			{200, []string{"X-Shunt-Admin-Token", adminToken}},
			{200, []string{"X-Shunt-Admin-Token", readKey}},
			{200, []string{"X-Api-Key", readKey}},
			{200, []string{"Authorization", "Bearer " + adminToken}},
			{200, []string{"Authorization", "bearer " + readKey}},
			{401, nil},
			{401, []string{"Authorization", "Basic " + readKey}},
			{401, []string{"Authorization", readKey}},
			{401, []string{"Authorization", "Bearer "}},
			{401, []string{"Authorization", "Bearer " + adminToken + "x"}},
			{403, []string{"Authorization", "Bearer " + adminToken, "Origin", "https://elsewhere.example"}},
		} {
			status, text := w.scrape("GET", c.headers...)
			w.Want(fmt.Sprint("status with ", c.headers), status, c.status)
			w.Want(fmt.Sprint("shown with ", c.headers), strings.Contains(text, "shunt_requests_in_flight"), c.status == 200)
		}
		status, _ := w.scrape("POST", "Authorization", "Bearer "+adminToken)
		w.Want("POST", status, http.StatusMethodNotAllowed)
	}, withAdmin)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		status, _ := w.scrape("GET", "Authorization", "Bearer "+adminToken)
		w.Want("without the admin surface", status, http.StatusNotFound)
	})
}

// spans is a collector that keeps what it gets.
type spans struct {
	mu       sync.Mutex
	resource string
	all      []*tracing.Span
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	raw, _ := io.ReadAll(body)
	var export collector.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range export.ResourceSpans {
		s.resource = fmt.Sprint(resource.Resource)
		for _, scope := range resource.ScopeSpans {
			s.all = append(s.all, scope.Spans...)
		}
	}
}

// attribute is the value of a span's attribute as text, empty if it has none.
func attribute(s *tracing.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if text := a.Value.GetStringValue(); text != "" {
				return text
			}
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// served runs a shunt on a socket, in front of a provider with two accounts, until end is called. The lines are the beginning of
// its table [server].
func served(t *testing.T, lines string) (provider *sim.Provider, address string, log *observetest.Log, end func()) {
	t.Helper()
	provider, log = sim.New(sim.Config{Accounts: simtest.Accounts(2)}), new(observetest.Log)
	upstream := httptest.NewServer(provider)
	toml := "[server]\n" + lines + "[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"" + upstream.URL + "\"\n"
	address, stop := apptest.Start(t, toml, slog.New(slog.NewTextHandler(log, nil)), apptest.StoreOf(t, provider))
	return provider, "http://" + address, log, func() {
		stop()
		http.DefaultClient.CloseIdleConnections()
		upstream.Close()
	}
}

func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func send(t *testing.T, address string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, address+sim.MessagesPath, strings.NewReader(simtest.Body(simtest.PlainModel, false)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Anthropic-Version", "2023-06-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err)
	}
}

// OBS-2, OBS-3: an address of its own for the metrics, which is closed at the end, and a span a request with one an attempt
// in it, the last of which are exported at the end.
func TestMetricsAddressAndTraces(t *testing.T) {
	got := new(spans)
	backend := httptest.NewServer(got)
	defer backend.Close()
	provider, address, log, end := served(t, "[server.metrics]\nbind = \"127.0.0.1:0\"\n"+
		"[otel]\nendpoint = \""+backend.URL+"\"\nservice_name = \"here\"\n")
	for _, name := range provider.Accounts() {
		provider.Inject(name, sim.Overloaded().Times(1)) // the second goes to the next account
	}
	provider.Clear("b")
	for range 3 {
		send(t, address)
	}
	if status, _ := get(t, address+"/metrics"); status != http.StatusNotFound {
		t.Errorf("the gateway responds with %d", status)
	}
	scrapes := "http://" + regexp.MustCompile(`metrics are served" address=(\S+)`).FindStringSubmatch(log.String())[1]
	if status, text := get(t, scrapes+"/metrics"); status != http.StatusOK || !strings.Contains(text, `shunt_requests_total{provider="anthropic",status="200"} 3`) {
		t.Errorf("status %d: %s", status, text)
	}
	if status, _ := get(t, scrapes+"/health"); status != http.StatusNotFound {
		t.Errorf("the address of the metrics serves another path with %d", status)
	}
	end()
	if _, err := http.Get(scrapes + "/metrics"); err == nil {
		t.Error("the address of the metrics is still open")
	}

	if !strings.Contains(got.resource, `"here"`) {
		t.Errorf("resource %s", got.resource)
	}
	requests := map[string]*tracing.Span{}
	for _, s := range got.all {
		if s.Name == "request" {
			requests[string(s.SpanId)] = s
		}
	}
	if len(requests) != 3 {
		t.Errorf("%d requests", len(requests))
	}
	var reasons []string
	for _, s := range got.all {
		if text := fmt.Sprint(s); strings.Contains(text, "sk-ant-") || strings.Contains(text, "\"hi\"") {
			t.Errorf("a secret: %s", text)
		}
		if s.Name != "attempt" {
			if attribute(s, "shunt.account") == "" || attribute(s, "http.response.status_code") != "200" || attribute(s, "gen_ai.request.model") != simtest.PlainModel {
				t.Errorf("request %v", s)
			}
			continue
		}
		reasons = append(reasons, attribute(s, "shunt.reason"))
		parent := requests[string(s.ParentSpanId)]
		if parent == nil {
			t.Errorf("no parent: %v", s)
			continue
		}
		if s.StartTimeUnixNano < parent.StartTimeUnixNano || s.EndTimeUnixNano > parent.EndTimeUnixNano || s.EndTimeUnixNano <= s.StartTimeUnixNano {
			t.Errorf("times of %v in %v", s, parent)
		}
		if failed := attribute(s, "shunt.reason") != "success"; failed != (s.Status.GetCode() == tracing.Status_STATUS_CODE_ERROR) {
			t.Errorf("status of %v", s)
		}
	}
	slices.Sort(reasons)
	if want := []string{"overloaded", "success", "success", "success"}; !slices.Equal(reasons, want) {
		t.Errorf("attempts %v, want %v", reasons, want)
	}
}

// OBS-3: a collector that is away costs spans and a warning, and neither requests nor a clean end.
func TestCollectorIsAway(t *testing.T) {
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	_, address, log, end := served(t, "[otel]\nendpoint = \""+away.URL+"\"\n")
	send(t, address)
	end()
	if !strings.Contains(log.String(), "traces cannot be exported") && !strings.Contains(log.String(), "the last traces are lost") {
		t.Error(log)
	}
}

// An address for metrics that is taken is an error at the start, which leaves nothing behind.
func TestMetricsAddressIsTaken(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	file := filepath.Join(t.TempDir(), "shunt.toml")
	if err := os.WriteFile(file, []byte("[server.metrics]\nbind = \""+other.Listener.Addr().String()+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + t.TempDir()}
	cfg, _, err := config.Load(config.Options{Path: file, Env: env, Families: app.Families()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(cfg, app.Options{Env: env, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	front := sim.Listen("127.0.0.1:3001")
	err = a.Run(t.Context(), front, nil)
	if err == nil || !strings.Contains(err.Error(), "server.metrics.bind") {
		t.Error(err)
	}
	if _, err := front.Accept(); err == nil {
		t.Error("the gateway's address is still open")
	}
}
