package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
)

const twoSlots = "[server]\nmax_concurrent_requests = 2\n"

var (
	longText = `"` + strings.Repeat("x", 100_000) + `"`
	longJSON = sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw, longText)
	})
)

// sendOn sends a request with this body on a connection of its own, whose response nobody reads.
func (w *world) sendOn(extra, body string) net.Conn {
	w.Helper()
	conn := w.dial()
	fmt.Fprintf(conn, "%s%scontent-length: %d\r\n\r\n%s", head, extra, len(body), body)
	synctest.Wait()
	return conn
}

// drip sends a beginning of a request and then a byte a second, until the connection ends or the test does. It returns the
// first response.
func (w *world) drip(beginning string) <-chan plain {
	conn := w.dial()
	var sends sync.WaitGroup
	w.Cleanup(func() { conn.Close(); sends.Wait() })
	response := make(chan plain, 1)
	go func() {
		defer conn.Close()
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			response <- plain{err: err}
			return
		}
		text, err := io.ReadAll(got.Body)
		got.Body.Close()
		if got.Close {
			got.Header.Set("Connection", "close") // which net/http takes out
		}
		response <- plain{got.StatusCode, got.Header, string(text), err}
	}()
	sends.Go(func() {
		for _, err := io.WriteString(conn, beginning); err == nil; _, err = io.WriteString(conn, "x") {
			time.Sleep(time.Second)
		}
	})
	synctest.Wait()
	return response
}

// [server.timeouts] write_stall_ms: clients that read nothing are disconnected, be the response a stream or JSON. Their slots,
// their requests at the provider and the accounts' places are free again, and others are served.
func TestClientsThatReadNothingAreDisconnected(t *testing.T) {
	const noPings = "sse_keepalive_seconds = 0\n" // nor other timers: they would wait for the lock that the write holds, and the clock with them
	for name, c := range map[string]struct {
		config sim.Config
		toml   string
		stream bool
		fault  sim.Fault
	}{
		"stream": {paid, singleOf(apiKey), true, sim.SlowFirstEvent(time.Second)},
		"JSON":   {sim.Config{Accounts: accountsOf(1)}, poolOf("[server.pool]\nramp_initial_concurrency = 2\n"), false, longJSON},
	} {
		inWorld(t, c.config, twoSlots+noPings+c.toml, func(w *world) {
			w.provider.Inject("", c.fault.Times(2))
			for range 2 {
				defer w.sendOn("", bodyFor(plainModel, c.stream)).Close()
			}
			time.Sleep(299 * time.Second)
			if got := w.ask("", plainModel, true); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" {
				w.Errorf("%s: before the timeout: %d %v", name, got.status, got.header)
			}
			time.Sleep(22 * time.Second)
			synctest.Wait()
			if !c.stream {
				w.wants(name+": requests in flight at the account", w.state("a").InFlight, 0)
			}
			if got := w.ask("", plainModel, true); got.status != http.StatusOK || got.err != nil {
				w.Errorf("%s: after the timeout: %d, %v: %s", name, got.status, got.err, got.body)
			}
		})
	}
}

// The same: a client that reads, but slowly, is not disconnected; nor is one whose stream is silent for longer than the
// timeout. 0 turns it off.
func TestClientsThatReadSlowlyStay(t *testing.T) {
	read := func(w *world, pause time.Duration) {
		conn := w.sendOn("", bodyFor(plainModel, false))
		defer conn.Close()
		time.Sleep(pause)
		response, err := http.ReadResponse(bufio.NewReaderSize(conn, 2000), nil)
		w.must(err)
		defer response.Body.Close()
		n := 0
		for buf := make([]byte, 2000); err == nil; time.Sleep(pause) {
			var m int
			m, err = response.Body.Read(buf)
			n += m
		}
		if err != io.EOF || n != len(longText) {
			w.Errorf("%d bytes, %v", n, err)
		}
	}
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.provider.Inject("", longJSON.Times(1))
		read(w, time.Minute)
	})
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf("[server.timeouts]\nwrite_stall_ms = 0\n"), func(w *world) {
		w.provider.Inject("", longJSON.Times(1))
		read(w, 6*time.Minute)
	})
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, "[server]\nsse_keepalive_seconds = 0\n"+poolOf("[server.timeouts]\nwrite_stall_ms = 5000\nupstream_ttfb_ms = 0\n"), func(w *world) {
		w.provider.Inject("", sim.SlowFirstEvent(100*time.Second).Times(1))
		if got := w.ask("", plainModel, true); got.status != http.StatusOK || got.err != nil {
			w.Errorf("a silent stream: %d, %v", got.status, got.err)
		}
	})
}

// A client that reads nothing delays a shutdown by no more than server.shutdown_timeout_seconds.
func TestShutdownWithAStalledClient(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.provider.Inject("", longJSON)
		defer w.sendOn("", bodyFor(plainModel, false)).Close()
		began := time.Now()
		if err := w.end(); err != nil || time.Since(began) > 31*time.Second {
			w.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// [server.timeouts] read_idle_ms: bodies that arrive a byte a second get 408 after 30 s, and their slots are free.
func TestSlowBodiesFreeTheirSlots(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, twoSlots+poolOf(""), func(w *world) {
		beginning := head + "content-length: 1000000\r\n\r\n{\"model\":\"" + plainModel + "\",\"x\":\""
		began := time.Now()
		first, second := w.drip(beginning), w.drip(beginning)
		w.wants("while they arrive", w.ask("", plainModel, true).status, http.StatusServiceUnavailable)
		for _, response := range []<-chan plain{first, second} {
			got := <-response
			if got.status != http.StatusRequestTimeout || time.Since(began) != 30*time.Second || got.header.Get("Retry-After") == "" {
				w.Errorf("%d %v after %v, %v: %s", got.status, got.header, time.Since(began), got.err, got.body)
			}
		}
		w.mustServe("", plainModel)
	})
}

// mixedRoutes has a pool for most models and the client's own credential for one.
const mixedRoutes = `
[server]
max_concurrent_requests = 20
[server.auth]
[providers.anthropic]
auth = "claude_oauth"
base_url = "` + providerURL + `"
[providers.own]
base_url = "` + providerURL + `"
[[routes]]
model = "own-model"
provider = "own"
`

// AUTH-2c: requests without a token neither hold a slot nor have their body read where every upstream needs one.
func TestNoTokenNoSlot(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, twoSlots+poolOf("[server.auth]\n"), func(w *world) {
		for range 5 {
			began := time.Now()
			got := <-w.drip(head + "x-claude-code-session-id: s\r\ncontent-length: 1000000\r\n\r\n{\"model\":\"" + plainModel + "\",\"x\":\"")
			if got.status != http.StatusUnauthorized || got.header.Get("Connection") != "close" || time.Since(began) > 0 {
				w.Errorf("%d %v after %v, %v", got.status, got.header, time.Since(began), got.err)
			}
		}
		w.wants("with a token", w.send(sim.MessagesPath, with(minimal, "X-Shunt-Token", "ann-secret"), bodyFor(plainModel, false)).status, http.StatusOK)
		w.wants("requests at the provider", w.seen(), 1)

		w.provider.Inject("", longJSON.Times(2))
		for range 2 {
			defer w.sendOn("x-shunt-token: ann-secret\r\n", bodyFor(plainModel, false)).Close()
		}
		w.wants("with a token, while all slots are taken", w.send(sim.MessagesPath, with(minimal, "X-Shunt-Token", "ann-secret"), bodyFor(plainModel, false)).status, http.StatusServiceUnavailable)
		w.wants("without one", w.ask("", plainModel, false).status, http.StatusUnauthorized)
	}, clientTokens("ann:ann-secret"))
}

// AUTH-2c: where the model decides, a request without a token is refused as soon as its model is known, or is not within
// 64 KiB; until then such requests hold a tenth of the slots.
func TestNoTokenUntilTheRouteIsKnown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, mixedRoutes, func(w *world) {
		begin := func(text string) string { return head + "content-length: 1000000\r\n\r\n" + text }
		body := bodyFor("own-model", false)

		got := <-w.drip(begin(`{"model":"` + plainModel + `","x":"`))
		w.wants("a model of the pool", got.status, http.StatusUnauthorized)
		got = <-w.drip(begin(`{"x":"` + strings.Repeat("x", 64<<10)))
		w.wants("no model in sight", got.status, http.StatusUnauthorized)

		first, second := w.drip(begin(`{"x":"`)), w.drip(begin(`{"x":"`))
		refused := w.send(sim.MessagesPath, minimal, body)
		w.wants("a third one", refused.status, http.StatusServiceUnavailable)
		w.wants("a third one, retry-after", refused.header.Get("Retry-After"), "1")
		w.wants("a third one, with a token", w.send(sim.MessagesPath, with(minimal, "X-Shunt-Token", "ann-secret"), bodyFor(plainModel, false)).status, http.StatusOK)
		w.wants("the first", (<-first).status, http.StatusRequestTimeout)
		w.wants("the second", (<-second).status, http.StatusRequestTimeout)

		// Once its route is known, a request counts like any other.
		var routed []<-chan plain
		for range 5 {
			routed = append(routed, w.drip(begin(`{"model":"own-model","x":"`)))
		}
		w.send(sim.MessagesPath, minimal, body)
		w.wants("sent on", string(w.received().Body), body)
		for _, response := range routed { // else they would end in the same moment as the shutdown's timeout
			w.wants("one that is slow", (<-response).status, http.StatusRequestTimeout)
		}
	}, clientTokens("ann:ann-secret"))
}

// [server] max_concurrent_requests: only inference takes a slot. What an operator looks at when all are taken still responds.
func TestPagesNeedNoSlot(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, surface+"[server]\nmax_concurrent_requests = 1\n"+poolOf(""), func(w *world) {
		w.provider.Inject("", longJSON.Times(1))
		defer w.sendOn("", bodyFor(plainModel, false)).Close()
		w.wants("another request", w.ask("", plainModel, false).status, http.StatusServiceUnavailable)
		as := http.Header{"X-Shunt-Admin-Token": {adminToken}}
		for path, want := range map[string]int{
			"/": 200, "/health": 200, "/healthz": 200, "/livez": 200, "/v1/models": 200, "/routes": 200,
			"/metrics": 200, "/admin": 303, "/admin/login": 200, "/admin/api/pool": 200,
		} {
			w.wants(path, w.get(http.MethodGet, path, as).status, want)
		}
	}, withAdmin)
}
