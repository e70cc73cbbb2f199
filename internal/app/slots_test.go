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

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

const twoSlots = "[server]\nmax_concurrent_requests = 2\n"

var (
	longText = `"` + strings.Repeat("x", 100_000) + `"`
	longJSON = sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw, longText)
	})
)

// sendOn sends a request with this body on a connection of its own, and does not read the response.
func (w *world) sendOn(extra, body string) net.Conn {
	w.Helper()
	conn := w.dial()
	fmt.Fprintf(conn, "%s%scontent-length: %d\r\n\r\n%s", head, extra, len(body), body)
	synctest.Wait()
	return conn
}

// drip sends a beginning of a request and then a byte a second, until the connection ends or the test does. It returns the
// first response.
func (w *world) drip(beginning string) <-chan simtest.Reply {
	conn := w.dial()
	var sends sync.WaitGroup
	w.Cleanup(func() { conn.Close(); sends.Wait() })
	response := make(chan simtest.Reply, 1)
	go func() {
		defer conn.Close()
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			response <- simtest.Reply{Err: err}
			return
		}
		text, err := io.ReadAll(got.Body)
		got.Body.Close()
		if got.Close {
			got.Header.Set("Connection", "close") // which net/http takes out
		}
		response <- simtest.NewReply(got, text, err)
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
		"JSON":   {sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf("[server.pool]\nramp_initial_concurrency = 2\n"), false, longJSON},
	} {
		inWorld(t, c.config, twoSlots+noPings+c.toml, func(w *world) {
			w.Provider.Inject("", c.fault.Times(2))
			for range 2 {
				defer w.sendOn("", simtest.Body(simtest.PlainModel, c.stream)).Close()
			}
			time.Sleep(299 * time.Second)
			if got := w.Request("", simtest.PlainModel, true); got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" {
				w.Errorf("%s: before the timeout: %d %v", name, got.Status, got.Header)
			}
			time.Sleep(22 * time.Second)
			synctest.Wait()
			if !c.stream {
				w.Want(name+": requests in flight at the account", w.State("a").InFlight, 0)
			}
			if got := w.Request("", simtest.PlainModel, true); got.Status != http.StatusOK || got.Err != nil {
				w.Errorf("%s: after the timeout: %d, %v: %s", name, got.Status, got.Err, got.Body)
			}
		})
	}
}

// The same: a client that reads, but slowly, is not disconnected; nor is one whose stream is silent for longer than the
// timeout. 0 turns it off.
func TestClientsThatReadSlowlyStay(t *testing.T) {
	read := func(w *world, pause time.Duration) {
		conn := w.sendOn("", simtest.Body(simtest.PlainModel, false))
		defer conn.Close()
		time.Sleep(pause)
		response, err := http.ReadResponse(bufio.NewReaderSize(conn, 2000), nil)
		w.Must(err)
		defer response.Body.Close()
		n := 0
		for buf := make([]byte, 10_000); err == nil; time.Sleep(pause) {
			var m int
			m, err = response.Body.Read(buf)
			n += m
		}
		if err != io.EOF || n != len(longText) {
			w.Errorf("%d bytes, %v", n, err)
		}
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		w.Provider.Inject("", longJSON.Times(1))
		read(w, time.Minute)
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf("[server.timeouts]\nwrite_stall_ms = 0\n"), func(w *world) {
		w.Provider.Inject("", longJSON.Times(1))
		read(w, 6*time.Minute)
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, "[server]\nsse_keepalive_seconds = 0\n"+apptest.PoolOf("[server.timeouts]\nwrite_stall_ms = 5000\nupstream_ttfb_ms = 0\n"), func(w *world) {
		w.Provider.Inject("", sim.SlowFirstEvent(100*time.Second).Times(1))
		if got := w.Request("", simtest.PlainModel, true); got.Status != http.StatusOK || got.Err != nil {
			w.Errorf("a silent stream: %d, %v", got.Status, got.Err)
		}
	})
}

// A client that reads nothing delays a shutdown by no more than server.shutdown_timeout_seconds.
func TestShutdownWithAStalledClient(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		w.Provider.Inject("", longJSON)
		defer w.sendOn("", simtest.Body(simtest.PlainModel, false)).Close()
		began := time.Now()
		if err := w.Stop(); err != nil || time.Since(began) > 31*time.Second {
			w.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// [server.timeouts] read_idle_ms: bodies that arrive a byte a second get 408 after 30 s, and their slots are free.
func TestSlowBodiesFreeTheirSlots(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, twoSlots+apptest.PoolOf(""), func(w *world) {
		beginning := head + "content-length: 1000000\r\n\r\n{\"model\":\"" + simtest.PlainModel + "\",\"x\":\""
		began := time.Now()
		first, second := w.drip(beginning), w.drip(beginning)
		w.Want("while they arrive", w.Request("", simtest.PlainModel, true).Status, http.StatusServiceUnavailable)
		for _, response := range []<-chan simtest.Reply{first, second} {
			got := <-response
			if got.Status != http.StatusRequestTimeout || time.Since(began) != 30*time.Second || got.Header.Get("Retry-After") == "" {
				w.Errorf("%d %v after %v, %v: %s", got.Status, got.Header, time.Since(began), got.Err, got.Body)
			}
		}
		w.MustServe("", simtest.PlainModel)
	})
}

// mixedRoutes has a pool for most models and the client's own credential for one.
const mixedRoutes = `
[server]
max_concurrent_requests = 20
[server.auth]
[providers.anthropic]
auth = "claude_oauth"
base_url = "` + simtest.ProviderURL + `"
[providers.own]
base_url = "` + simtest.ProviderURL + `"
[[routes]]
model = "own-model"
provider = "own"
`

// AUTH-2c: requests without a token neither hold a slot nor have their body read where every upstream needs one.
func TestNoTokenNoSlot(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, twoSlots+apptest.PoolOf("[server.auth]\n"), func(w *world) {
		for range 5 {
			began := time.Now()
			got := <-w.drip(head + "x-claude-code-session-id: s\r\ncontent-length: 1000000\r\n\r\n{\"model\":\"" + simtest.PlainModel + "\",\"x\":\"")
			if got.Status != http.StatusUnauthorized || got.Header.Get("Connection") != "close" || time.Since(began) > 0 {
				w.Errorf("%d %v after %v, %v", got.Status, got.Header, time.Since(began), got.Err)
			}
		}
		w.Want("with a token", w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "X-Shunt-Token", "ann-secret"), simtest.Body(simtest.PlainModel, false)).Status, http.StatusOK)
		w.Want("requests at the provider", w.Seen(), 1)

		w.Provider.Inject("", longJSON.Times(2))
		for range 2 {
			defer w.sendOn("x-shunt-token: ann-secret\r\n", simtest.Body(simtest.PlainModel, false)).Close()
		}
		w.Want("with a token, while all slots are taken", w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "X-Shunt-Token", "ann-secret"), simtest.Body(simtest.PlainModel, false)).Status, http.StatusServiceUnavailable)
		w.Want("without one", w.Request("", simtest.PlainModel, false).Status, http.StatusUnauthorized)
	}, clientTokens("ann:ann-secret"))
}

// AUTH-2c: where the model decides, a request without a token is refused as soon as its model is known, or is not within
// 64 KiB; until then such requests hold a tenth of the slots.
func TestNoTokenUntilTheRouteIsKnown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, mixedRoutes, func(w *world) {
		begin := func(text string) string { return head + "content-length: 1000000\r\n\r\n" + text }
		body := simtest.Body("own-model", false)

		got := <-w.drip(begin(`{"model":"` + simtest.PlainModel + `","x":"`))
		w.Want("a model of the pool", got.Status, http.StatusUnauthorized)
		got = <-w.drip(begin(`{"x":"` + strings.Repeat("x", 64<<10)))
		w.Want("no model in sight", got.Status, http.StatusUnauthorized)

		first, second := w.drip(begin(`{"x":"`)), w.drip(begin(`{"x":"`))
		refused := w.Send(sim.MessagesPath, simtest.Minimal, body)
		w.Want("a third one", refused.Status, http.StatusServiceUnavailable)
		w.Want("a third one, retry-after", refused.Header.Get("Retry-After"), "1")
		w.Want("a third one, with a token", w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "X-Shunt-Token", "ann-secret"), simtest.Body(simtest.PlainModel, false)).Status, http.StatusOK)
		w.Want("the first", (<-first).Status, http.StatusRequestTimeout)
		w.Want("the second", (<-second).Status, http.StatusRequestTimeout)

		// Once its route is known, a request counts like any other.
		var routed []<-chan simtest.Reply
		for range 5 {
			routed = append(routed, w.drip(begin(`{"model":"own-model","x":"`)))
		}
		w.Send(sim.MessagesPath, simtest.Minimal, body)
		w.Want("sent on", string(w.Received().Body), body)
		for _, response := range routed { // else they would end in the same moment as the shutdown's timeout
			w.Want("one that is slow", (<-response).Status, http.StatusRequestTimeout)
		}
	}, clientTokens("ann:ann-secret"))
}

// [server] max_concurrent_requests: only inference takes a slot. What an operator looks at when all are taken still responds.
func TestPagesNeedNoSlot(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, surface+"[server]\nmax_concurrent_requests = 1\n"+apptest.PoolOf(""), func(w *world) {
		w.Provider.Inject("", longJSON.Times(1))
		defer w.sendOn("", simtest.Body(simtest.PlainModel, false)).Close()
		w.Want("another request", w.Request("", simtest.PlainModel, false).Status, http.StatusServiceUnavailable)
		as := http.Header{"X-Shunt-Admin-Token": {adminToken}}
		for path, want := range map[string]int{
			"/": 200, "/health": 200, "/healthz": 200, "/livez": 200, "/v1/models": 200, "/routes": 200,
			"/metrics": 200, "/admin": 303, "/admin/login": 200, "/admin/api/pool": 200,
		} {
			w.Want(path, w.get(http.MethodGet, path, as).Status, want)
		}
	}, withAdmin)
}
