package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/app"
	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/observe"
	"shunt/internal/observe/observetest"
	"shunt/internal/pool"
	"shunt/internal/sim"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childConfig); path != "" {
		fmt.Fprintln(os.Stderr, runChild(path))
		os.Exit(1)
	}
	if path := os.Getenv(saverPath); path != "" {
		saveForEver(path)
	}
	goleak.VerifyTestMain(m)
}

// world is a whole shunt in front of a simulated provider, in a bubble of virtual time: every connection is in memory, the
// account store is a temporary directory.
type world struct {
	*testing.T
	provider *sim.Provider
	upstream *sim.PipeListener
	app      *app.App
	client   *http.Client
	store    string
	file     string   // the configuration
	env      []string // of the process
	hup      chan struct{}
	log      *observetest.Log
	level    *slog.LevelVar
	clock    clock.Clock  // of shunt; the provider has the real one
	end      func() error // stops shunt as SIGTERM does; the first call returns what Run returned

	mu      sync.Mutex
	records []*observe.Record
	onCall  func(*http.Request)          // sees what reaches the provider, before that does
	hosts   map[string]*sim.PipeListener // by address; every other address is the provider's
	servers []*sim.Server                // of the hosts
}

const (
	gatewayURL  = "http://127.0.0.1:3001"
	providerURL = "http://127.0.0.1:8001"
)

// poolOf is a configuration whose default provider is a pool of the store's accounts; more is added to it.
func poolOf(more string) string {
	return "[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"" + providerURL + "\"\n" + more
}

// accountsOf makes n accounts called a, b, c ...
func accountsOf(n int) []sim.Account {
	accounts := make([]sim.Account, n)
	for i := range accounts {
		accounts[i].Name = string(rune('a' + i))
	}
	return accounts
}

// inWorld runs a test in a world of its own. The accounts of the provider are in the store; before may change that, and
// the environment, before shunt starts.
func inWorld(t *testing.T, provider sim.Config, toml string, test func(w *world), before ...func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: t.TempDir(), file: filepath.Join(t.TempDir(), "shunt.toml"), hup: make(chan struct{}), log: new(observetest.Log), level: new(slog.LevelVar)}
		provider.RecordBodies = true
		w.provider = sim.New(provider)
		for _, name := range w.provider.Accounts() {
			w.write(name, w.provider.Credentials(name))
		}
		w.upstream = sim.Listen("127.0.0.1:8001")
		upstream := sim.Serve(w.upstream, http.HandlerFunc(w.call))

		if err := os.WriteFile(w.file, []byte(toml), 0o600); err != nil {
			t.Fatal(err)
		}
		w.env = []string{
			"HOME=" + t.TempDir(), "SHUNT_CLAUDE_ACCOUNTS_DIR=" + w.store, "SHUNT_CLAUDE_TOKEN_URL=" + providerURL + sim.TokenPath,
			"TEST_KEY=paid-key",
		}
		if transport := os.Getenv("SHUNT_TEST_TRANSPORT"); transport != "" {
			w.env = append(w.env, "SHUNT_SERVER__TRANSPORT="+transport)
		}
		for _, f := range before {
			f(w)
		}
		cfg, warnings, err := config.Load(config.Options{Path: w.file, Env: w.env, Families: app.Families()})
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: w.level}))
		for _, warning := range warnings {
			log.Warn(warning.String())
		}
		w.app, err = app.New(cfg, app.Options{
			Version: "test", Env: w.env, Log: log, Level: w.level, Clock: w.clock, Dial: w.connect, OnAnswer: w.noteAnswer,
		})
		if err != nil {
			t.Fatal(err)
		}
		front := sim.Listen("127.0.0.1:3001")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.app.Run(ctx, front, w.hup); close(ended) }()
		w.end = func() error { stop(); return <-ended }
		transport := &http.Transport{DialContext: front.Dial, DisableCompression: true}
		w.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		defer func() {
			transport.CloseIdleConnections()
			if err := w.end(); err != nil {
				t.Errorf("run: %v", err)
			}
			w.keepsSecrets()
			w.closeHosts()
			if err := upstream.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}()
		test(w)
	})
}

func (w *world) call(answer http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	seen := w.onCall
	w.mu.Unlock()
	if seen != nil {
		seen(r)
	}
	w.provider.ServeHTTP(answer, r)
}

// watch has f see every request on its way to the provider.
func (w *world) watch(f func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onCall = f
}

func (w *world) write(account string, credentials []byte) {
	if err := os.WriteFile(filepath.Join(w.store, account+".json"), credentials, 0o600); err != nil {
		w.Fatal(err)
	}
}

// keepsSecrets: no token is in the log, in a condition or in a record (TOK-8).
func (w *world) keepsSecrets() {
	records, err := json.Marshal(w.records)
	if err != nil {
		w.Error(err)
	}
	for name, text := range map[string]string{"log": w.log.String(), "conditions": fmt.Sprint(w.app.Conditions()), "records": string(records)} {
		for _, secret := range []string{"sk-ant-", "the-clients-own", "paid-key"} {
			if at := strings.Index(text, secret); at >= 0 {
				w.Errorf("a token is in the %s: %q", name, text[max(0, at-200):min(len(text), at+50)])
			}
		}
	}
}

func (w *world) noteAnswer(r *observe.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, r)
}

// last is the record of the request that ended last.
func (w *world) last() *observe.Record {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.records[len(w.records)-1]
}

const plainModel, fableModel = "claude-sonnet-4-5", "claude-fable-5"

// bodyFor is a small request.
func bodyFor(model string, stream bool) string {
	body := `{"model":"` + model + `","messages":[{"role":"user","content":"hi"}],"max_tokens":64,` +
		`"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"theirs\"}"}`
	if stream {
		body += `,"stream":true`
	}
	return body + "}"
}

// reply is an answer as the client saw it.
type reply struct {
	status  int
	header  http.Header
	body    string
	answer  sim.Response
	err     error // of reading the answer
	account string
	took    time.Duration
}

// ask sends a request in a session (empty: none) and reads the answer to its end.
func (w *world) ask(session, model string, stream bool) reply {
	w.Helper()
	return w.post(context.Background(), sim.MessagesPath, session, bodyFor(model, stream))
}

func (w *world) post(ctx context.Context, path, session, body string) reply {
	w.Helper()
	return w.postWith(ctx, w.client, path, session, body)
}

func (w *world) postWith(ctx context.Context, client *http.Client, path, session, body string) reply {
	w.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, gatewayURL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer the-clients-own")
	request.Header.Set("Anthropic-Version", "2023-06-01")
	request.Header.Set("Content-Type", "application/json")
	if session != "" {
		request.Header.Set("X-Claude-Code-Session-Id", session)
	}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	var raw bytes.Buffer
	response.Body = io.NopCloser(io.TeeReader(response.Body, &raw))
	r := reply{status: response.StatusCode, header: response.Header, account: response.Header.Get("X-Shunt-Account")}
	if path == sim.MessagesPath {
		r.answer, r.err = sim.ReadResponse(response)
		if r.err == nil && r.status == http.StatusOK {
			r.err = r.answer.Verify([]byte(body))
		}
	} else {
		_, r.err = io.Copy(io.Discard, response.Body)
	}
	r.body, r.took = raw.String(), time.Since(began)
	if strings.Contains(r.body, "sk-ant-") {
		w.Errorf("a token is in the answer: %s", r.body) // TOK-8
	}
	return r
}

// mustServe is ask for a request that has to succeed; it returns the account.
func (w *world) mustServe(session, model string) string {
	w.Helper()
	r := w.ask(session, model, true)
	if r.status != http.StatusOK || r.err != nil {
		w.Fatalf("status %d, %v: %s", r.status, r.err, r.body)
	}
	return r.account
}

// state is an account's standing in the default pool.
func (w *world) state(account string) pool.Status {
	w.Helper()
	for _, s := range w.app.Pool("anthropic") {
		if s.Name == account {
			return s
		}
	}
	w.Fatalf("no account %s", account)
	return pool.Status{}
}

// calls are the accounts whose credentials the provider saw on inference requests, in order, from the given one on.
func (w *world) calls(from int) []string {
	synctest.Wait()
	var accounts []string
	for _, r := range w.provider.Requests()[from:] {
		if strings.HasPrefix(r.Path, sim.MessagesPath) {
			accounts = append(accounts, r.Account)
		}
	}
	return accounts
}

func (w *world) seen() int { return len(w.provider.Requests()) }
