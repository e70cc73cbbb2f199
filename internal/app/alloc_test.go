//go:build !race

package app_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"shunt/internal/apptest"
	"shunt/internal/observe"
	"shunt/internal/sim/simtest"
)

// A request through everything costs 79 to 82 allocations, of which net/http's server makes about half: a pool of twenty
// accounts with all that it can do, both logs, metrics. The budgets leave room for a few more.
func TestAllocationsOfRequests(t *testing.T) {
	upstream := newPeer(t)
	gateway := startWithAll(t, upstream.Addr().String())
	small := simtest.Body(simtest.PlainModel, false)
	for name, c := range map[string]struct {
		body, response string
		budget         float64
	}{
		"small":  {small, wholeAnswer, 82},
		"large":  {strings.Replace(small, "hi", strings.Repeat("hi", 50_000), 1), wholeAnswer, 87},
		"stream": {simtest.Body(simtest.PlainModel, true), streamedAnswer, 87},
	} {
		upstream.response.Store([]byte(c.response))
		client, err := net.Dial("tcp", gateway)
		if err != nil {
			t.Fatal(err)
		}
		request := []byte("POST /v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:3001\r\nContent-Type: application/json\r\nAuthorization: Bearer c\r\n" +
			"User-Agent: claude-cli/2\r\nAnthropic-Beta: a,b\r\nX-App: cli\r\nX-Claude-Code-Session-Id: s\r\nContent-Length: " + strconv.Itoa(len(c.body)) + "\r\n\r\n" + c.body)
		in := make([]byte, 16<<10)
		got := testing.AllocsPerRun(300, func() {
			if _, err := client.Write(request); err != nil {
				t.Fatal(err)
			}
			for n := 0; n == 0 || !bytes.HasSuffix(in[:n], []byte("}}")) && !bytes.HasSuffix(in[:n], []byte("\r\n0\r\n\r\n")); {
				more, err := client.Read(in[n:])
				if err != nil {
					t.Fatalf("%v after %q", err, in[:n])
				}
				n += more
			}
		})
		client.Close()
		if !bytes.HasPrefix(in, []byte("HTTP/1.1 200 ")) {
			t.Fatalf("%s: %.200q", name, in)
		}
		if got > c.budget {
			t.Errorf("%s: %v allocations, not %v", name, got, c.budget)
		}
	}
}

const (
	wholeAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nRequest-Id: r\r\nContent-Length: 91\r\n\r\n" +
		`{"type":"message","model":"claude-sonnet-4-5","usage":{"input_tokens":7,"output_tokens":5}}`
	streamedAnswer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nRequest-Id: r\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"c6\r\n" + `event: message_start
data: {"type":"message_start","message":{"id":"m","model":"claude-sonnet-4-5","usage":{"input_tokens":7,"output_tokens":1}}}

event: message_stop
data: {"type":"message_stop"}

` + "\r\n0\r\n\r\n"
)

// peer sends the same response to every request, without allocating anything.
type peer struct {
	net.Listener
	response atomic.Value
}

func newPeer(t *testing.T) *peer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *peer) serve(c net.Conn) {
	defer c.Close()
	in := make([]byte, 256<<10)
	for n := 0; ; {
		more, err := c.Read(in[n:])
		if err != nil {
			return
		}
		n += more
		if head, body, ok := bytes.Cut(in[:n], []byte("\r\n\r\n")); ok && len(body) == lengthIn(head) {
			n = 0
			c.Write(p.response.Load().([]byte))
		}
	}
}

func lengthIn(head []byte) (n int) {
	_, after, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	for _, c := range after {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// startWithAll runs a shunt with everything on, in front of an upstream at an address.
func startWithAll(t *testing.T, upstream string) (address string) {
	toml := fmt.Sprintf("[server.admin]\n[server.pool]\n[log]\nrequests = %q\n[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"http://%s\"\n",
		filepath.Join(t.TempDir(), "requests"), upstream)
	for i := range 20 {
		toml += apptest.Listed(fmt.Sprint("account", i), `token_env = "TOKEN"`, fmt.Sprintf("uuid = \"22222222-2222-4222-8222-2222222222%02d\"", i))
	}
	address, stop := apptest.Start(t, toml, observe.NewLogger(io.Discard, slog.LevelInfo, "json", false),
		"TOKEN=t", "SHUNT_ADMIN_TOKENS=ops:an-admin-token-of-many-characters")
	t.Cleanup(stop)
	return address
}
