package upstream_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/dialect"
	"shunt/internal/dialect/responses"
	"shunt/internal/family"
	"shunt/internal/family/chatgpt"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
	"shunt/internal/upstream"
)

// stage is a pool of accounts a, b and c of a family that has everything optional, at a provider whose responses a test scripts.
type stage struct {
	*simtest.World
	family    family.Family
	registry  *pool.Registry
	keeper    *account.Keeper
	health    *observe.Health
	transport *upstream.Transport
	pool      *upstream.Pool

	mu      sync.Mutex
	replies map[string][]http.HandlerFunc // by account: for its next requests, before the usual one
	routes  http.HandlerFunc              // serves requests for the routes of accounts
	seen    []seen
}

// seen is a request that the provider has received.
type seen struct {
	account, host, target string
	header                http.Header
	body                  string
}

const stageURL = "http://127.0.0.1:8002/backend-api"

// inStage runs a test of such a pool.
func inStage(t *testing.T, test func(s *stage)) {
	t.Helper()
	simtest.Run(t, sim.Config{}, func(base *simtest.World) {
		s := &stage{World: base, family: chatgpt.Family, replies: map[string][]http.HandlerFunc{}}
		s.family.Credentials = family.CredentialsFile{Access: "access", Refresh: "refresh", Account: "account"}
		s.routes = func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(chatgpt.Family.Fixed[0].Respond(nil, r.Header))
		}
		for _, name := range []string{"a", "b", "c"} {
			base.Put(name, []byte(`{"access": "token-`+name+`", "account": "id-`+name+`"}`))
		}
		for _, address := range []string{"127.0.0.1:8002", "127.0.0.1:8003"} {
			base.Serve(address, http.HandlerFunc(s.serve))
		}
		log := slog.New(slog.NewTextHandler(base.Log, nil))
		s.health = observe.NewHealth(log, clock.Clock{})
		s.registry = pool.NewRegistry(clock.Clock{}, map[string]*quota.Table{s.family.Name: s.family.Windows})
		s.transport = upstream.NewTestTransport(base.Dial)
		s.Tested = simtest.Live{Registry: s.registry, Health: s.health}
		s.keeper = account.NewKeeper(account.Options{Log: log, Health: s.health, Families: []account.Family{{
			Name: s.family.Name, Format: s.family.Credentials, Dir: base.Store,
		}}})
		s.configure()
		test(s)
		s.transport.Close()
		base.Must(s.keeper.Close(base.Context()))
	})
}

// configure builds the pool.
func (s *stage) configure() {
	accounts, _ := s.keeper.Resolve(map[string]account.Listing{simtest.Pool: {Family: s.family.Name}})
	members := make([]pool.Account, len(accounts[simtest.Pool]))
	for i, a := range accounts[simtest.Pool] {
		members[i] = pool.Account{Name: a.Name(), Key: a.Key(), Soft: quota.Soft(quota.DefaultHard)}
	}
	at, err := url.Parse(stageURL)
	s.Must(err)
	s.pool = upstream.NewPool(upstream.PoolOptions{
		Name: simtest.Pool, Family: &s.family, Base: at, Accounts: accounts[simtest.Pool], Transport: s.transport,
		Log:       slog.New(slog.NewTextHandler(s.Log, nil)),
		Scheduler: s.registry.Pool(simtest.Pool).Configure(members, pool.Policy{}),
	})
}

// serve is the provider.
func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	name, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token-")
	if strings.HasSuffix(r.URL.Path, "/accounts/check") {
		s.routes(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, seen{name, r.Host, r.URL.RequestURI(), r.Header, string(body)})
	reply := http.HandlerFunc(served)
	if next := s.replies[name]; len(next) > 0 {
		reply, s.replies[name] = next[0], next[1:]
	}
	s.mu.Unlock()
	reply(w, r)
}

// served is the usual response.
func served(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Codex-Turn-State", "turn of "+r.Header.Get("Chatgpt-Account-Id"))
	w.Header().Set("Openai-Model", "gpt-5.5")
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":"resp_1","model":"gpt-5.5","output":[]}`)
}

// respond returns a response with lines of a header, such as "retry-after: 5".
func respond(status int, body string, lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// streamed returns a stream of events with that data.
func streamed(data ...string) http.HandlerFunc {
	var body strings.Builder
	for _, d := range data {
		body.WriteString("data: " + d + "\n\n")
	}
	return respond(http.StatusOK, body.String(), "content-type: text/event-stream")
}

// script sets the next responses to an account; for "", to each of them.
func (s *stage) script(name string, replies ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{name}
	if name == "" {
		names = []string{"a", "b", "c"}
	}
	for _, name := range names {
		s.replies[name] = replies
	}
}

const turn = `{"model":"gpt-5.5","input":[{"type":"reasoning","encrypted_content":"sealed"},{"type":"message","role":"user","content":"hi"}]}`

// request sends a request of a session with lines of a header, and returns the response, the account that served it, and what was
// recorded.
func (s *stage) request(session string, lines ...string) (*httptest.ResponseRecorder, *upstream.Failure, *observe.Record) {
	s.Helper()
	return s.send(s.pool, session, lines...)
}

// send is request for any upstream.
func (s *stage) send(to upstream.Upstream, session string, lines ...string) (*httptest.ResponseRecorder, *upstream.Failure, *observe.Record) {
	s.Helper()
	client := httptest.NewRequestWithContext(s.Context(), http.MethodPost, "/v1/responses", strings.NewReader(turn))
	client.Header = http.Header{"Session-Id": {session}, "Authorization": {"Bearer the-clients-own"}, "Chatgpt-Account-Id": {"the-clients"}}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		client.Header.Set(name, value)
	}
	body, err := upstream.ReadBody(client.Body, client.ContentLength, 1<<20)
	s.Must(err)
	r := &upstream.Request{Client: client, Path: "/v1/responses", Body: body, Dialect: responses.Dialect{}, Record: &observe.Record{Time: time.Now()}}
	defer r.Release()
	r.Scan, err = r.Dialect.Scan(body.Bytes())
	s.Must(err)
	r.Identify()
	model := r.Scan.Model
	if used := client.Header.Get("X-Test-Model"); used != "" {
		model = used
	}
	w := httptest.NewRecorder()
	outcome := upstream.ServeChain(w, r, []upstream.Link{{Name: simtest.Pool, Upstream: to, Model: model}})
	return w, outcome.Failure, r.Record
}

// home sends a first request of a session, and returns the account that served it.
func (s *stage) home(session string) string {
	s.Helper()
	w, failure, record := s.request(session)
	if w.Code != http.StatusOK || failure != nil {
		s.Fatalf("status %d, %+v: %s", w.Code, failure, w.Body)
	}
	return record.Account
}

// last returns the request that the provider received last.
func (s *stage) last() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1]
}

// state returns the account in the pool.
func (s *stage) state(name string) pool.Status {
	synctest.Wait()
	for _, status := range s.registry.Pool(simtest.Pool).Snapshot() {
		if status.Name == name {
			return status
		}
	}
	s.Fatalf("no account %s", name)
	return pool.Status{}
}

// accountsSeen returns the accounts of the requests from one on.
func (s *stage) accountsSeen(from int) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen[from:] {
		names = append(names, r.account)
	}
	return names
}

func (s *stage) count() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.seen) }

// GPT-7, FAM-7: what each response leads to: who serves the request, and how long the account cools down.
func TestCodes(t *testing.T) {
	failure := func(code string) string { return `{"error":{"code":"` + code + `","message":"Text."}}` }
	failed := func(code string) string { return `{"type":"response.failed","response":` + failure(code) + `}` }
	const created = `{"type":"response.created","response":{}}`
	for _, c := range []struct {
		name     string
		reply    http.HandlerFunc
		moves    bool // another account serves
		status   int  // of the response, if the account's is relayed
		cooldown time.Duration
		cause    pool.Event
	}{
		{"quota", respond(429, `{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":7200}}`), true, 0, 2 * time.Hour, pool.Rejected},
		{"FO-12: never longer than the window", respond(429, `{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":7200}}`,
			"x-codex-primary-used-percent: 100", "x-codex-primary-window-minutes: 300", "x-codex-primary-reset-after-seconds: 600"), true, 0, 10 * time.Minute, pool.Rejected},
		{"no Codex", respond(429, failure("usage_not_included")), true, 0, time.Hour, pool.NotIncluded},
		{"402", respond(402, `{"detail":{"code":"deactivated_workspace"}}`), true, 0, 300 * time.Second, pool.PaymentRequired},
		{"403 of the account", respond(403, failure("account_deactivated")), true, 0, 300 * time.Second, pool.Forbidden},
		{"401 without a refresh", respond(401, failure("token_invalidated")), true, 0, 300 * time.Second, pool.Unauthorized},
		{"overloaded", respond(503, failure("server_is_overloaded")), true, 0, 5 * time.Second, pool.Overloaded},
		{"503", respond(503, failure("else")), true, 0, 30 * time.Second, pool.ServerError},
		{"404", respond(404, `{"detail":"Not Found"}`), false, 404, 0, pool.None},
		{"stream: quota", streamed(created, failed("usage_limit_reached")), true, 0, time.Minute, pool.Rejected},
		{"stream: no Codex", streamed(created, failed("usage_not_included")), true, 0, time.Hour, pool.NotIncluded},
		{"stream: throttle", streamed(created, failed("rate_limit_exceeded")), true, 0, 0, pool.None},
		{"stream: overloaded", streamed(created, `{"type":"error","code":"server_is_overloaded"}`), true, 0, 5 * time.Second, pool.Overloaded},
		{"stream: server error", streamed(created, failed("server_error")), true, 0, 30 * time.Second, pool.ServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			inStage(t, func(s *stage) {
				home := s.home("s")
				s.script(home, c.reply)
				before, began := s.count(), time.Now()
				w, failed, record := s.request("s")
				seen := s.accountsSeen(before)
				if c.moves && (w.Code != 200 || record.Account == home || len(seen) != 2) || !c.moves && w.Code != c.status {
					t.Errorf("status %d by %q of %v, %+v: %s", w.Code, record.Account, seen, failed, w.Body)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("took %v", took)
				}
				if state := s.state(home); state.Cooldown != c.cooldown || state.Cause.Event != c.cause {
					t.Errorf("cools down for %v because of %v, want %v, %v", state.Cooldown, state.Cause, c.cooldown, c.cause)
				}
			})
		})
	}
}

// GPT-7: a plan without Codex is a condition until a request succeeds.
func TestPlanWithoutTheService(t *testing.T) {
	inStage(t, func(s *stage) {
		home := s.home("s")
		s.script(home, respond(429, `{"error":{"type":"usage_not_included","message":"m"}}`))
		s.request("s")
		if got := s.health.List(); len(got) != 1 || !strings.HasSuffix(got[0].Name, home+" cannot serve") || got[0].Detail != "this plan has no Codex" {
			t.Errorf("conditions %+v", got)
		}
		time.Sleep(2 * time.Hour)
		sessionAt(s, home)
		if got := s.Conditions(); got != "" {
			t.Errorf("conditions %s", got)
		}
	})
}

// sessionAt returns a new session that the account serves.
func sessionAt(s *stage, account string) string {
	for i := range 1000 {
		if name := fmt.Sprint("new ", i); s.home(name) == account {
			return name
		}
	}
	s.Fatalf("%s serves no session", account)
	return ""
}

// GPT-12: what a client of the Responses API gets if no account can serve.
func TestExhaustionForResponses(t *testing.T) {
	limit := func(d string) http.HandlerFunc {
		return respond(429, `{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":`+d+`}}`)
	}
	inStage(t, func(s *stage) {
		s.script("a", limit("7200"))
		s.script("b", limit("3600"))
		s.script("c", limit("10800"))
		w, f, _ := s.request("s")
		if f == nil || f.Status != 429 || w.Body.Len() > 0 || !f.Resets.Equal(time.Now().Add(time.Hour)) || !strings.Contains(f.Message, "back in 1 h") {
			t.Errorf("%d, %+v", w.Code, f)
		}
	})
	inStage(t, func(s *stage) {
		s.script("", respond(500, `{"error":{"message":"m"}}`, "retry-after: 3000"))
		if w, f, _ := s.request("s"); f != nil || w.Code != 500 || w.Header().Get("Retry-After") != "60" {
			t.Errorf("%d, %v, %+v", w.Code, w.Header(), f)
		}
	})
	inStage(t, func(s *stage) {
		s.script("", respond(403, `{"error":{"code":"account_banned","message":"m"}}`))
		if w, f, _ := s.request("s"); f == nil || (responses.Dialect{}).Status(&dialect.Error{Kind: f.Kind, Status: f.Status}) != 400 || w.Body.Len() > 0 {
			t.Errorf("%d, %+v", w.Code, f)
		}
	})
}

// GPT-10, GPT-4b: the account's headers replace the client's.
func TestAccountHeaders(t *testing.T) {
	inStage(t, func(s *stage) {
		home := s.home("s")
		s.request("s", "x-openai-account-routing-override: us", "originator: codex_exec", "x-codex-turn-metadata: {}")
		h := s.last().header
		want := map[string]string{
			"Chatgpt-Account-Id": "id-" + home, "X-Openai-Account-Routing-Override": "", "Authorization": "Bearer token-" + home,
			"Originator": "codex_exec", "X-Codex-Turn-Metadata": "{}",
		}
		for name, value := range want {
			if got := strings.Join(h[name], " "); got != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
	})
}

// GPT-11: the state of a turn goes to the account that it came from, or to none.
func TestTurnState(t *testing.T) {
	const header = "X-Codex-Turn-State"
	inStage(t, func(s *stage) {
		w, _, record := s.request("s")
		state := w.Header().Get(header)
		if state != "turn of id-"+record.Account {
			t.Fatalf("state %q", state)
		}
		if _, _, again := s.request("s", header+": "+state); s.last().header.Get(header) != state || again.Dropped.State != 0 {
			t.Errorf("its own account got %v, dropped %+v", s.last().header[header], again.Dropped)
		}
		s.script(record.Account, respond(500, ``))
		_, _, moved := s.request("s", header+": "+state)
		if got := s.last(); got.account == record.Account || got.header[header] != nil || moved.Dropped.State != 1 {
			t.Errorf("another account got %v, dropped %+v", got.header[header], moved.Dropped)
		}
		if s.request("s", header+": unknown"); s.last().header.Get(header) != "unknown" {
			t.Errorf("an unknown state became %v", s.last().header[header])
		}
	})
}

// GPT-11: the model in the header of a response is the one that the client requested.
func TestModelHeader(t *testing.T) {
	inStage(t, func(s *stage) {
		for used, want := range map[string]string{"": "gpt-5.5", "gpt-6-codex": "gpt-5.5"} {
			s.script("", respond(200, `{"model":"m"}`, "openai-model: "+used), respond(200, `{"model":"m"}`, "openai-model: "+used))
			w, _, _ := s.request("s", "x-test-model: "+used)
			if got := w.Header().Get("Openai-Model"); got != want && used != "" || used == "" && got != "" {
				t.Errorf("%q became %q", used, got)
			}
		}
	})
}

// GPT-10b: reasoning that an account rejects is cut, once.
func TestForeignReasoning(t *testing.T) {
	reject := respond(400, `{"error":{"code":"invalid_encrypted_content","message":"m"}}`)
	inStage(t, func(s *stage) {
		home := s.home("s")
		s.script(home, reject)
		before := s.count()
		w, _, record := s.request("s")
		if got := s.accountsSeen(before); w.Code != 200 || !slices.Equal(got, []string{home, home}) {
			t.Errorf("%d by %v", w.Code, got)
		}
		if strings.Contains(s.last().body, "sealed") || !strings.Contains(s.last().body, `"hi"`) || record.Dropped.Reasoning != 1 {
			t.Errorf("sent %s, dropped %+v", s.last().body, record.Dropped)
		}
		s.script(home, reject, reject)
		if w, _, record := s.request("s"); w.Code != 400 || record.Account != home {
			t.Errorf("a second rejection: %d by %q", w.Code, record.Account)
		}
		if state := s.state(home); state.Cooldown != 0 {
			t.Errorf("cools down for %v", state.Cooldown)
		}
	})
}

// GPT-6: the quota that an event in a stream reports is recorded.
func TestQuotaEvent(t *testing.T) {
	inStage(t, func(s *stage) {
		s.script("", streamed(
			`{"type":"codex.rate_limits","rate_limits":{"primary":{"used_percent":40,"window_minutes":300,"reset_after_seconds":60}}}`,
			`{"type":"response.created","response":{}}`, `{"type":"response.output_text.delta","delta":"x"}`, `{"type":"response.completed","response":{}}`,
		))
		_, _, record := s.request("s")
		state := s.state(record.Account)
		if used, known := state.Quota.Utilization(chatgpt.FiveHour); !known || used != 0.4 {
			t.Errorf("%v, %v", used, known)
		}
	})
}

// GPT-4b: concurrent first requests of an account share one request for its route, and a new configuration keeps what is known.
func TestRouteIsRequestedOnce(t *testing.T) {
	inStage(t, func(s *stage) {
		var requests atomic.Int32
		s.routes = func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			time.Sleep(time.Second)
			_, _ = w.Write(chatgpt.Family.Fixed[0].Respond(nil, r.Header))
		}
		began := time.Now()
		var clients sync.WaitGroup
		for range 10 {
			clients.Go(func() { s.request("s") })
		}
		clients.Wait()
		if took := time.Since(began); requests.Load() != 1 || took != time.Second {
			t.Errorf("%d requests for a route took %v", requests.Load(), took)
		}
		w, _, record := s.request("s")
		state := w.Header().Get("X-Codex-Turn-State")
		s.configure()
		s.script(record.Account, respond(500, ``))
		_, _, moved := s.request("s", "X-Codex-Turn-State: "+state) // GPT-11
		if requests.Load() != 2 || moved.Dropped.State != 1 {
			t.Errorf("%d requests for routes, dropped %+v", requests.Load(), moved.Dropped)
		}
	})
}

// GPT-4b: an account's requests go where the provider says, and nowhere else.
func TestRoutes(t *testing.T) {
	route := func(origin, override string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"accounts":[{"id":"`+r.Header.Get("Chatgpt-Account-Id")+`","workspace_backend_origin":"`+origin+`","account_routing_override":"`+override+`"}]}`)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	const base = "127.0.0.1:8002"
	for name, c := range map[string]struct {
		routes   http.HandlerFunc
		host     string
		override string
		took     time.Duration
		warned   bool
	}{
		"no constraint":     {routes: route("NO_CONSTRAINT", "NO_CONSTRAINT"), host: base},
		"another origin":    {routes: route("http://127.0.0.1:8003", "us_cr"), host: "127.0.0.1:8003", override: "us_cr"},
		"a foreign origin":  {routes: route("https://chatgpt.com.evil.example", "us"), host: base, warned: true},
		"a path":            {routes: route("http://127.0.0.1:8003/x", "us"), host: base, warned: true},
		"without TLS":       {routes: route("http://chatgpt.com", "us"), host: base, warned: true},
		"an unknown one":    {routes: route("NO_CONSTRAINT", "mars"), host: base, warned: true},
		"a failure":         {routes: respond(500, ``), host: base, warned: true},
		"no response":       {routes: hang, host: base, took: 3 * time.Second},
		"another redirects": {routes: respond(307, ``, "location: http://127.0.0.1:8003/"), host: base, warned: true},
	} {
		t.Run(name, func(t *testing.T) {
			inStage(t, func(s *stage) {
				requests := 0
				s.routes = func(w http.ResponseWriter, r *http.Request) {
					requests++
					if r.Header.Get("Chatgpt-Account-Id") == "" || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-") {
						t.Errorf("requested with %v", r.Header)
					}
					c.routes(w, r)
				}
				began := time.Now()
				s.home("s")
				got := s.last()
				if took := time.Since(began); got.host != c.host || got.header.Get("X-Openai-Account-Routing-Override") != c.override || took != c.took {
					t.Errorf("went to %s with %q after %v", got.host, got.header["X-Openai-Account-Routing-Override"], took)
				}
				if warned := s.Logged("belong") > 0; warned != c.warned {
					t.Errorf("warned: %v", warned)
				}
				s.home("s")
				if synctest.Wait(); requests != 1 {
					t.Errorf("requested %d times", requests)
				}
				time.Sleep(25 * time.Hour)
				began = time.Now()
				s.home("s")
				if synctest.Wait(); requests != 2 || time.Since(began) != 0 && !c.warned && c.took == 0 {
					t.Errorf("requested %d times after a day", requests)
				}
			})
		})
	}
}
