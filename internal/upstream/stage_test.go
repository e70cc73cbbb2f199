package upstream_test

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
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
	requests  upstream.RequestOptions
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
		s := &stage{World: base, family: chatgpt.Family, requests: upstream.RequestOptions{Agent: "shunt/v1", Accepts: chatgpt.Family.Accepts}, replies: map[string][]http.HandlerFunc{}}
		s.family.StreamOnly = false // most tests are shorter with documents
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
		Name: simtest.Pool, Family: &s.family, Base: at, Requests: s.requests, Accounts: accounts[simtest.Pool], Transport: s.transport,
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
	return s.sendBody(responses.Dialect{}, turn, upstream.Times{}, to, session, lines...)
}

// sendBody is send for a body in a dialect.
func (s *stage) sendBody(d dialect.Inbound, text string, times upstream.Times, to upstream.Upstream, session string, lines ...string) (*httptest.ResponseRecorder, *upstream.Failure, *observe.Record) {
	s.Helper()
	return s.sendChain(d, text, times, []upstream.Link{{Name: simtest.Pool, Upstream: to}}, session, lines...)
}

// sendChain is sendBody for a chain. A link without a model gets that of the request.
func (s *stage) sendChain(d dialect.Inbound, text string, times upstream.Times, links []upstream.Link, session string, lines ...string) (*httptest.ResponseRecorder, *upstream.Failure, *observe.Record) {
	s.Helper()
	path := d.Endpoints()[0].Path
	client := httptest.NewRequestWithContext(s.Context(), http.MethodPost, path, strings.NewReader(text))
	client.Header = http.Header{"Session-Id": {session}, "Authorization": {"Bearer the-clients-own"}, "Chatgpt-Account-Id": {"the-clients"}}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		client.Header.Set(name, value)
	}
	body, err := upstream.ReadBody(client.Body, client.ContentLength, 1<<20)
	s.Must(err)
	r := &upstream.Request{Client: client, Path: path, Body: body, Dialect: d, Times: times, Record: &observe.Record{Time: time.Now()}}
	defer r.Release()
	r.Scan, err = r.Dialect.Scan(body.Bytes())
	s.Must(err)
	r.Identify()
	for i := range links {
		links[i].Model = cmp.Or(links[i].Model, client.Header.Get("X-Test-Model"), r.Scan.Model)
	}
	w := httptest.NewRecorder()
	outcome := upstream.ServeChain(w, r, links)
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

// dialect returns what clients of the stage speak.
func (*stage) dialect() dialect.Inbound { return responses.Dialect{} }

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
