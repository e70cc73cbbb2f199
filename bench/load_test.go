package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func upstreamForTest(t *testing.T) *upstream {
	t.Helper()
	up, err := startUpstream("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.server.Close() })
	return up
}

// throughBare starts the bare proxy in front of an upstream and returns its endpoint.
func throughBare(t *testing.T, up *upstream) endpoint {
	t.Helper()
	addr, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- serveBare(ctx, addr, up.url) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := (&process{endpoint: endpoint{addr: addr}}).ready(ctx); err != nil {
		t.Fatal(err)
	}
	return endpoint{addr: addr, exact: true}
}

// Every kind of response is what the load expects, with and without a proxy, and no connection is opened while the load
// runs.
func TestLoad(t *testing.T) {
	up := upstreamForTest(t)
	for _, to := range []endpoint{{addr: up.addr, exact: true}, throughBare(t, up)} {
		for _, stream := range []bool{false, true} {
			k := kind{body: requestBody(20_000, stream), response: response{stream: stream}}
			for _, response := range []*response{&k.response, {asRequested: true}} {
				up.response.Store(response)
				l, err := openLoad(t.Context(), to, k, 2)
				if err != nil {
					t.Fatal(err)
				}
				before := up.dialed.Load()
				took, err := l.run(t.Context(), 20*time.Millisecond)
				l.close()
				if opened := up.dialed.Load() - before; err != nil || len(took) < 2 || opened > 0 {
					t.Errorf("%d responses, %d connections opened, %v", len(took), opened, err)
				}
			}
		}
	}
}

func TestStreams(t *testing.T) {
	up := upstreamForTest(t)
	k := kind{body: requestBody(2_000, true), response: response{stream: true, events: 20, pace: 5 * time.Millisecond}}
	up.response.Store(&k.response)
	to := throughBare(t, up)
	lost, why := streams(t.Context(), to.addr, 10*time.Millisecond, timeout, exchanges(to, k, 10))
	if lost != 0 || why != nil || up.peak.Load() != 10 {
		t.Errorf("%d lost, %v, %d at once", lost, why, up.peak.Load())
	}
	to.addr = up.addr
	up.response.Store(&response{stream: true, events: 19, pace: time.Millisecond})
	lost, why = streams(t.Context(), to.addr, 0, timeout, exchanges(to, k, 3))
	if lost != 3 || !errors.Is(why, errResponse) {
		t.Errorf("a missing event: %d lost, %v", lost, why)
	}
}

// A response that is not complete ends the measurement.
func TestLoadRefuses(t *testing.T) {
	whole := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, s) }
	}
	cut := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-length", fmt.Sprint(len(shortStream)))
		_, _ = io.WriteString(w, shortStream[:100])
	}
	spaced := strings.ReplaceAll(shortStream, `":"`, `": "`)
	for name, c := range map[string]struct {
		response      http.HandlerFunc
		stream, exact bool
		rejected      string // part of the error; empty: none
	}{
		"as sent":                   {whole(shortStream), true, true, ""},
		"as sent, JSON":             {whole(wholeMessage), false, true, ""},
		"rewritten":                 {whole(spaced), true, false, ""},
		"rewritten, of shunt":       {whole(spaced), true, true, "bytes instead of"},
		"rewritten, JSON":           {whole(wholeMessage + "\n"), false, false, ""},
		"another status":            {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no key", http.StatusUnauthorized) }, true, false, "status 401: no key"},
		"without its end":           {whole(strings.TrimSuffix(shortStream, streamTail)), true, false, "end with"},
		"without its end, JSON":     {whole(wholeMessage[:500]), false, false, "end with"},
		"cut":                       {cut, true, false, "unexpected EOF"},
		"empty":                     {whole(""), true, false, "end with"},
		"empty, JSON":               {whole(""), false, false, "end with"},
		"encoded":                   {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("content-encoding", "gzip") }, true, false, "encoded as gzip"},
		"JSON instead of a stream":  {whole(wholeMessage), true, false, "end with"},
		"a stream instead of JSON":  {whole(shortStream + "\n"), false, true, "bytes instead of"},
		"an error in the stream":    {whole(streamHead + "event: error\ndata: {\"type\":\"error\"}\n\n"), true, false, "end with"},
		"the end before other text": {whole(shortStream + strings.Repeat("x", 100)), true, false, "end with"},
	} {
		server := httptest.NewServer(c.response)
		to := endpoint{addr: server.Listener.Addr().String(), exact: c.exact}
		_, err := openLoad(t.Context(), to, kind{body: requestBody(2_000, c.stream), response: response{stream: c.stream}}, 1)
		if c.rejected == "" && err != nil || c.rejected != "" && (err == nil || !strings.Contains(err.Error(), c.rejected)) {
			t.Errorf("%s: %v, want %q", name, err, c.rejected)
		}
		server.CloseClientConnections()
		server.Close()
	}
}

func TestExchanges(t *testing.T) {
	k := kind{body: requestBody(2_000, true), response: response{stream: true}}
	to := endpoint{addr: "127.0.0.1:1", prefix: "/base", headers: []header{{"Authorization", ""}, {"X-App", "other"}, {"x-api-key", "key"}}}
	sessions := map[string]bool{}
	for _, e := range exchanges(to, k, 100) {
		head := string(e.head)
		_, after, _ := strings.Cut(head, "x-claude-code-session-id: ")
		session, _, _ := strings.Cut(after, "\r\n")
		sessions[session] = true
		body := bodyOf(e)
		if len(body) != len(k.body) || !bytes.Contains(body, []byte(`\"session_id\":\"`+session+`\"`)) {
			t.Fatalf("session %s: a body of %d bytes ends with %s", session, len(body), e.rest)
		}
		for _, want := range []string{"POST /base/v1/messages?beta=true HTTP/1.1\r\n", "host: 127.0.0.1:1\r\n", "content-length: 2000\r\n", "x-app: other\r\n", "x-api-key: key\r\n\r\n"} {
			if !strings.Contains(head, want) {
				t.Fatalf("no %q in %q", want, head)
			}
		}
		if strings.Contains(strings.ToLower(head), "authorization") || e.length >= 0 {
			t.Fatalf("length %d, %q", e.length, head)
		}
	}
	if len(sessions) != 100 {
		t.Errorf("%d sessions", len(sessions))
	}
}

func bodyOf(e exchange) []byte { return bytes.Join([][]byte{e.body, e.rest}, nil) }

func TestHeaderFlag(t *testing.T) {
	var f headerFlag
	for _, s := range []string{"a: b:c", "d:"} {
		if err := f.Set(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "a", ": b", "a: b\r\nc: d"} {
		if err := f.Set(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
	if len(f) != 2 || f[0] != (header{"a", "b:c"}) || f[1] != (header{"d", ""}) {
		t.Errorf("%q", f)
	}
}
