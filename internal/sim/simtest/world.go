// Package simtest is the world of the tests of everything between a client and a provider: a simulated provider, other hosts
// beside it, a store of logins, and a client that checks each response as Claude Code does. It runs in a testing/synctest bubble,
// so all connections are in memory and time is virtual. What is tested, a handler or a whole shunt, is the caller's.
package simtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"shunt/internal/observe"
	"shunt/internal/observe/observetest"
	"shunt/internal/pool"
	"shunt/internal/sim"
)

// The base URLs of what is tested and of the provider.
const (
	GatewayURL  = "http://127.0.0.1:3001"
	ProviderURL = "http://127.0.0.1:8001"
)

// World is a provider and its clients. Its methods fail the test if they cannot do what they say. Unless noted otherwise, they
// may be called from any goroutine.
type World struct {
	*testing.T
	Provider *sim.Provider     // it records bodies
	Upstream *sim.PipeListener // of the provider
	Front    *sim.PipeListener // of what is tested, which serves it
	Client   *http.Client      // connects to Front, whatever the URL; it follows no redirect
	Store    string            // directory of an account store that has the logins of all the provider's accounts
	Log      *observetest.Log  // of what is tested
	Tested   Tested            // set by the test that starts it

	mu      sync.Mutex
	records []*observe.Record
	watcher func(*http.Request)
	hosts   map[string]*sim.PipeListener // by address
	servers []*sim.Server                // of the hosts
}

// Tested is the live state of what a world tests.
type Tested interface {
	Pool(provider string) []pool.Status
	Conditions() []observe.Condition
}

// Run runs a test in a bubble, with a provider as configured. The test starts what it tests, and ends it before it returns.
// Afterwards, Run checks that no secret is in the log, a condition or a record (TOK-8).
func Run(t *testing.T, config sim.Config, test func(*World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { InBubble(t, config, test) })
}

// InBubble is [Run] in a bubble that exists.
func InBubble(t *testing.T, config sim.Config, test func(*World)) {
	t.Helper()
	config.RecordBodies = true
	w := &World{
		T: t, Provider: sim.New(config), Upstream: sim.Listen("127.0.0.1:8001"), Front: sim.Listen("127.0.0.1:3001"),
		Store: t.TempDir(), Log: new(observetest.Log),
	}
	for _, account := range w.Provider.Accounts() {
		w.Put(account, w.Provider.Credentials(account))
	}
	w.Client = &http.Client{
		Transport:     &http.Transport{DialContext: w.Front.Dial, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	upstream := sim.Serve(w.Upstream, http.HandlerFunc(w.receive))
	defer func() {
		w.Client.CloseIdleConnections()
		w.checkSecrets()
		for _, server := range append(w.servers, upstream) {
			if err := server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
	}()
	test(w)
}

func (w *World) receive(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	watcher := w.watcher
	w.mu.Unlock()
	if watcher != nil {
		watcher(r)
	}
	w.Provider.ServeHTTP(rw, r)
}

// Watch calls f with every request before the provider gets it; nil ends that.
func (w *World) Watch(f func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watcher = f
}

func (w *World) checkSecrets() {
	records, err := json.Marshal(w.Records())
	if err != nil {
		w.Error(err)
	}
	places := map[string]string{"log": w.Log.String(), "records": string(records)}
	if w.Tested != nil {
		places["conditions"] = fmt.Sprint(w.Tested.Conditions())
	}
	for name, text := range places {
		for _, secret := range []string{"sk-ant-", "the-clients-own", "paid-key"} {
			if at := strings.Index(text, secret); at >= 0 {
				w.Errorf("TOK-8: a token is in the %s: %q", name, text[max(0, at-200):min(len(text), at+50)])
			}
		}
	}
}

// Record adds the record of a request that has ended. It is for what is tested.
func (w *World) Record(r *observe.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, r)
}

// Records returns the records of all requests that have ended.
func (w *World) Records() []*observe.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.records
}

// Last returns the record of the request that ended last.
func (w *World) Last() *observe.Record {
	synctest.Wait()
	records := w.Records()
	return records[len(records)-1]
}

// Want reports an error unless got equals want.
func (w *World) Want(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Must ends the test if there is an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Logged returns the number of log lines that contain all parts.
func (w *World) Logged(parts ...string) int {
	synctest.Wait()
	n := 0
lines:
	for line := range strings.Lines(w.Log.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		n++
	}
	return n
}

// Conditions returns the names of the conditions that hold, joined by commas.
func (w *World) Conditions() string {
	synctest.Wait()
	var names []string
	for _, c := range w.Tested.Conditions() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}
