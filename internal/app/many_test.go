package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// manyStreams is how many streams are open at once; manyWorkers is how many goroutines read them, since the race detector
// bounds the number of all goroutines.
const manyStreams, manyWorkers = 1000, 8

// TestManyStreams has a thousand streams open at once over real sockets, each of which must be byte for byte what the
// provider sends; some clients leave. Afterwards no goroutine and no file descriptor is left.
func TestManyStreams(t *testing.T) {
	warm, err := net.Listen("tcp", "127.0.0.1:0") // what the runtime opens for good
	if err != nil {
		t.Fatal(err)
	}
	warm.Close()
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)

	vast := sim.Window{Size: 1 << 40}
	provider := sim.New(sim.Config{Accounts: []sim.Account{{Name: "a", FiveHour: vast}, {Name: "b", FiveHour: vast}, {Name: "c", FiveHour: vast}}, Output: sim.Range{Min: 40, Max: 60}, Record: 1})
	gate := newGate(provider)
	server, err := sim.Start(gate)
	if err != nil {
		t.Fatal(err)
	}
	address, stop := startShunt(t, provider, server.URL)

	var idle int // descriptors of connections that are kept for the next stream
	for wave, leaving := range []int{0, 100} {
		gate.open(manyStreams)
		streamAtOnce(t, address, gate.plain, leaving)
		if wave == 0 {
			idle = openFiles(t)
		}
	}
	if !eventually(func() bool { return openFiles(t) <= idle }) {
		t.Errorf("%d descriptors after two waves, %d after one", openFiles(t), idle)
	}
	stop()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if !eventually(func() bool { return openFiles(t) <= descriptors && runtime.NumGoroutine() <= goroutines }) {
		t.Errorf("%d descriptors, %d before; %d goroutines, %d before", openFiles(t), descriptors, runtime.NumGoroutine(), goroutines)
	}
	if n := provider.Counters("").Requests; n < 2*manyStreams {
		t.Errorf("%d requests", n)
	}
}

// startShunt runs a shunt on a socket, in front of a provider, until stop is called.
func startShunt(t *testing.T, provider *sim.Provider, providerURL string) (address string, stop func()) {
	t.Helper()
	toml := "[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"" + providerURL + "\"\n"
	return apptest.Start(t, toml, slog.New(slog.DiscardHandler), apptest.StoreOf(t, provider))
}

// gate lets no stream go on beyond its headers before a number of them have come so far.
type gate struct {
	provider *sim.Provider

	mu      sync.Mutex
	missing int
	all     chan struct{}
}

func newGate(p *sim.Provider) *gate { return &gate{provider: p} }

func (g *gate) open(streams int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing, g.all = streams, make(chan struct{})
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.provider.ServeHTTP(&gated{ResponseWriter: w, gate: g, gone: r.Context().Done()}, r)
}

// plain returns the provider's response to a body, from its handler.
func (g *gate) plain(body string) []byte {
	r := httptest.NewRequest(http.MethodPost, sim.MessagesPath, strings.NewReader(body))
	r.Header = simtest.With(simtest.Minimal, "Authorization", "Bearer "+g.provider.Token("a"), "Anthropic-Beta", "oauth-2025-04-20")
	w := httptest.NewRecorder()
	g.provider.ServeHTTP(w, r)
	return w.Body.Bytes()
}

type gated struct {
	http.ResponseWriter
	gate   *gate
	gone   <-chan struct{}
	passed bool
}

func (w *gated) Write(p []byte) (int, error) {
	if !w.passed {
		w.passed = true
		w.gate.mu.Lock()
		if w.gate.missing--; w.gate.missing == 0 {
			close(w.gate.all)
		}
		all := w.gate.all
		w.gate.mu.Unlock()
		select {
		case <-all:
		case <-w.gone:
		}
	}
	return w.ResponseWriter.Write(p)
}

func (w *gated) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// streamAtOnce opens all streams and then reads them side by side, a few hundred bytes at a time. Some clients leave
// after their first bytes.
func streamAtOnce(t *testing.T, address string, want func(body string) []byte, leaving int) {
	t.Helper()
	var workers sync.WaitGroup
	for worker := range manyWorkers {
		workers.Go(func() {
			var streams []*openStream
			for i := worker; i < manyStreams; i += manyWorkers {
				s, err := sendRequest(address, i)
				if err != nil {
					t.Errorf("stream %d: %v", i, err)
					continue
				}
				s.leaves = i < leaving
				streams = append(streams, s)
			}
			for len(streams) > 0 {
				left := streams[:0]
				for _, s := range streams {
					if s.read() {
						left = append(left, s)
						continue
					}
					s.conn.Close()
					if s.leaves {
						continue
					}
					if s.err != io.EOF || !bytes.Equal(s.got.Bytes(), want(s.body)) {
						t.Errorf("%d bytes, %v: %.200q", s.got.Len(), s.err, s.got.Bytes())
					}
				}
				streams = left
			}
		})
	}
	workers.Wait()
}

// openStream is a stream on a connection of its own, without a goroutine of its own.
type openStream struct {
	conn     net.Conn
	body     string
	response *http.Response
	got      bytes.Buffer
	err      error
	leaves   bool
}

func sendRequest(address string, i int) (*openStream, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	size := 100 + i%10*1000
	body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","stream":true,"max_tokens":500,"messages":[{"role":"user","content":"%d %s"}]}`, i, strings.Repeat("x", size))
	_, err = fmt.Fprintf(conn, "POST /v1/messages?beta=true HTTP/1.1\r\nHost: localhost\r\nAnthropic-Version: 2023-06-01\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return &openStream{conn: conn, body: body}, err
}

// read takes the next bytes and reports whether there may be more.
func (s *openStream) read() bool {
	if s.response == nil {
		if s.response, s.err = http.ReadResponse(bufio.NewReader(s.conn), nil); s.err != nil {
			return false
		}
		if s.response.StatusCode != http.StatusOK {
			s.err = fmt.Errorf("status %s", s.response.Status)
			return false
		}
	}
	var n int64
	n, s.err = io.CopyN(&s.got, s.response.Body, 300)
	return s.err == nil && (!s.leaves || n == 0)
}

// openFiles is how many file descriptors the process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// eventually waits for a condition that what has ended elsewhere brings about, for as long as it may take.
func eventually(condition func() bool) bool {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	return condition()
}
