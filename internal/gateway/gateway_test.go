package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/gateway"
	"shunt/internal/observe"
	"shunt/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is an upstream that responds with what it would have sent: the model and the path.
type echo struct {
	noModels
	calls int
}

// noModels is the part of an upstream that the tests do not use.
type noModels struct{}

func (e *echo) Serve(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
	e.calls++
	fmt.Fprintf(w, "%s %s %d", r.Model, r.Path, len(r.Body.Bytes()))
	r.Record.Status = http.StatusOK
	return upstream.Outcome{}
}

type serving struct {
	noModels
	serve func(http.ResponseWriter, *upstream.Request) upstream.Outcome
}

func (s serving) Serve(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
	return s.serve(w, r)
}

// upstreamFunc returns an upstream that serves requests by f.
func upstreamFunc(f func(http.ResponseWriter, *upstream.Request) upstream.Outcome) upstream.Upstream {
	return serving{serve: f}
}

func (noModels) Dialect() dialect.Outbound { return messages.Dialect{} }

func (noModels) HasAccounts() bool { return true }

func (noModels) Models(context.Context, dialect.Inbound, http.Header) ([]dialect.Model, error) {
	return nil, errors.New("no list")
}

func (noModels) PassesTo() (origin string, ok bool) { return "", false }

// dialects are what the clients of the tests speak.
var dialects = []dialect.Inbound{messages.Dialect{}}

// families are the families of accounts that the configurations of the tests use.
var families = []config.Family{{Name: "claude", Kind: config.Anthropic, Auth: "claude_oauth", Hosts: []string{"anthropic.com"}}}

// start serves a gateway with a configuration in front of an upstream.
func start(t *testing.T, toml string, u upstream.Upstream) (url string, records <-chan *observe.Record) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shunt.toml")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Options{Path: file, Families: families})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan *observe.Record, 100)
	g := gateway.New(gateway.Options{Version: "v1", Dialects: dialects, Log: slog.New(slog.DiscardHandler), Record: func(r *observe.Record) { seen <- r }},
		&gateway.State{Config: cfg, Upstreams: map[string]upstream.Upstream{"anthropic": u}})
	server := httptest.NewUnstartedServer(g)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, seen
}

// raw sends bytes and returns the response.
func raw(t *testing.T, url, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, request)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response, string(body)
}

// checkError checks an error response (ERR-1).
func checkError(t *testing.T, body, kind string) {
	t.Helper()
	var e struct {
		Type      string
		Error     struct{ Type, Message string }
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Errorf("not JSON: %q", body)
		return
	}
	if e.Type != "error" || e.Error.Type != kind || e.Error.Message == "" || e.RequestID == "" {
		t.Errorf("%s, want an error of type %s", body, kind)
	}
}

// WIRE-4 and the table of endpoints: only the listed paths, exactly as they are written; everything else is an error of
// the known shape and reaches no upstream.
func TestEndpoints(t *testing.T) {
	u := &echo{}
	url, _ := start(t, "", u)
	for _, c := range []struct {
		line   string
		status int
		kind   string
		allow  string
	}{
		{"GET /", 200, "", ""},
		{"GET /health", 200, "", ""},
		{"POST /", 405, "invalid_request_error", "GET, HEAD"},
		{"DELETE /health", 405, "invalid_request_error", "GET, HEAD"},
		{"GET /v1/messages", 405, "invalid_request_error", "POST"},
		{"PUT /v1/messages/count_tokens", 405, "invalid_request_error", "POST"},
		{"GET /nothing", 404, "not_found_error", ""},
		{"POST /v1/messages/", 404, "not_found_error", ""},
		{"POST //v1/messages", 404, "not_found_error", ""},
		{"POST /v1//messages", 404, "not_found_error", ""},
		{"POST /v1/messages/../messages", 404, "not_found_error", ""},
		{"POST /v1/x/../messages", 404, "not_found_error", ""},
		{"POST /./v1/messages", 404, "not_found_error", ""},
		{"POST /v1/messages/%2e%2e/messages", 404, "not_found_error", ""},
		{"POST /v1/%6dessages", 404, "not_found_error", ""},
		{"POST /v1%2fmessages", 404, "not_found_error", ""},
		{"POST /v1\\inferHead", 404, "not_found_error", ""},
		{"POST /V1/messages", 404, "not_found_error", ""},
		{"GET /admin", 404, "not_found_error", ""},
		{"POST /v1/models", 405, "invalid_request_error", "GET, HEAD"},
		{"POST /routes", 405, "invalid_request_error", "GET, HEAD"},
	} {
		response, body := raw(t, url, c.line+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
		if response.StatusCode != c.status || response.Header.Get("Allow") != c.allow {
			t.Errorf("%s: %d, allow %q: %s", c.line, response.StatusCode, response.Header.Get("Allow"), body)
		}
		if c.kind != "" {
			checkError(t, body, c.kind)
		}
		if response.Header.Get("Location") != "" {
			t.Errorf("%s: redirected", c.line)
		}
	}
	if u.calls != 0 {
		t.Errorf("%d calls reached the upstream", u.calls)
	}
}

// WIRE-14: HEAD and GET of the small pages.
func TestSmallPages(t *testing.T) {
	url, _ := start(t, "", &echo{})
	for path, want := range map[string]string{"/": "shunt v1", "/health": `{"status":"ok","version":"v1"}`} {
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %s", path, body)
		}
		head, err := http.Head(url + path)
		if err != nil {
			t.Fatal(err)
		}
		head.Body.Close()
		if head.StatusCode != 200 || head.ContentLength != int64(len(body)) {
			t.Errorf("HEAD %s: %d, %d bytes of %d", path, head.StatusCode, head.ContentLength, len(body))
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

const inferHead = "POST /v1/messages?beta=true HTTP/1.1\r\nHost: localhost\r\n"

// Bad input gets a clear error, and no upstream call (RTE-2, WIRE-7, [server.limits]).
func TestBadRequests(t *testing.T) {
	u := &echo{}
	url, _ := start(t, "[server.limits]\nmax_request_bytes = 1000\nmax_request_header_bytes = 2000\nmax_url_length = 300\n", u)
	with := func(body string) string {
		return inferHead + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	for name, c := range map[string]struct {
		request string
		status  int
		kind    string
	}{
		"empty":               {with(""), 400, "invalid_request_error"},
		"not JSON":            {with("model=x"), 400, "invalid_request_error"},
		"an array":            {with("[]"), 400, "invalid_request_error"},
		"truncated":           {with(`{"model":"x"`), 400, "invalid_request_error"},
		"no model":            {with(`{}`), 400, "invalid_request_error"},
		"empty model":         {with(`{"model":""}`), 400, "invalid_request_error"},
		"only the mark":       {with(`{"model":"[1m]"}`), 400, "invalid_request_error"},
		"number for a model":  {with(`{"model":1}`), 400, "invalid_request_error"},
		"two models":          {with(`{"model":"x","mod\u0065l":"y"}`), 400, "invalid_request_error"},
		"something after it":  {with(`{"model":"x"}{}`), 400, "invalid_request_error"},
		"not UTF-8":           {with("\xff\xfe\x00"), 400, "invalid_request_error"},
		"compressed":          {inferHead + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 415, "invalid_request_error"},
		"too long, announced": {inferHead + "Content-Length: 1001\r\n\r\n", 413, "request_too_large"},
		"too long, chunked":   {inferHead + "Transfer-Encoding: chunked\r\n\r\n400\r\n" + strings.Repeat("x", 1024) + "\r\n0\r\n\r\n", 413, "request_too_large"},
		"broken chunks":       {inferHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "invalid_request_error"},
		"long URL":            {"GET /" + strings.Repeat("x", 300) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, "request_too_large"},
		"header flood":        {"GET /health HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-Flood: "+strings.Repeat("y", 50)+"\r\n", 40) + "\r\n", 431, "request_too_large"},
	} {
		response, body := raw(t, url, c.request)
		if response.StatusCode != c.status {
			t.Errorf("%s: %d %s", name, response.StatusCode, body)
		}
		checkError(t, body, c.kind)
	}
	if u.calls != 0 {
		t.Errorf("%d calls reached the upstream", u.calls)
	}
	if response, body := raw(t, url, with(`{"model":"x"}`)); response.StatusCode != 200 {
		t.Errorf("a good request after all of them: %d %s", response.StatusCode, body)
	}
}

// RTE-1: one mark for a long context is taken off, wherever the rest of the name comes from.
func TestModelMark(t *testing.T) {
	url, _ := start(t, "", &echo{})
	for requested, upstream := range map[string]string{
		"claude-x": "claude-x", "claude-x[1m]": "claude-x", "claude-x[1M]": "claude-x", "claude-x[1m][1m]": "claude-x[1m]", "x[2m]": "x[2m]", "[1m]x": "[1m]x",
	} {
		body := `{"model":"` + requested + `"}`
		_, got := raw(t, url, inferHead+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
		if want := fmt.Sprintf("%s /v1/messages %d", upstream, len(body)); got != want {
			t.Errorf("%s: %q, want %q", requested, got, want)
		}
	}
}

// AUTH-4: web pages of other origins, and names that were rebound to this machine, are turned away on every route.
func TestWebPagesStayOut(t *testing.T) {
	url, _ := start(t, "[server]\nallowed_hosts = [\"shunt.example\"]\n", &echo{})
	for _, c := range []struct {
		headers string
		status  int
	}{
		{"Host: localhost", 200},
		{"Host: LOCALHOST:3001", 200},
		{"Host: 127.0.0.1:3001", 200},
		{"Host: 127.9.9.9", 200},
		{"Host: [::1]:3001", 200},
		{"Host: shunt.example", 200},
		{"Host: Shunt.Example:80", 200},
		{"Host: evil.example", 403},
		{"Host: localhost.evil.example", 403},
		{"Host: 127.0.0.1.evil.example", 403},
		{"Host: 10.0.0.1", 403},
		{"Host: ", 403},
		{"Host: localhost\r\nSec-Fetch-Site: cross-site", 403},
		{"Host: localhost\r\nSec-Fetch-Site: same-site", 403},
		{"Host: localhost\r\nSec-Fetch-Site: same-origin", 200},
		{"Host: localhost\r\nSec-Fetch-Site: none", 200},
		{"Host: localhost\r\nOrigin: https://evil.example", 403},
		{"Host: localhost\r\nOrigin: null", 403},
		{"Host: localhost:3001\r\nOrigin: http://localhost:3001", 200},
		{"Host: localhost:3001\r\nOrigin: http://localhost:9000", 403},
		{"Host: localhost:3001\r\nOrigin: http://localhost:3001\r\nOrigin: http://evil.example", 403},
	} {
		for _, path := range []string{"/", "/health"} {
			response, body := raw(t, url, "GET "+path+" HTTP/1.1\r\n"+c.headers+"\r\n\r\n")
			if response.StatusCode != c.status {
				t.Errorf("%s %q: %d", path, c.headers, response.StatusCode)
			}
			if c.status == 403 {
				checkError(t, body, "permission_error")
			}
		}
	}
}

// [server]: beyond max_concurrent_requests a request is rejected until later; the small pages are not.
func TestConcurrencyLimit(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	url, records := start(t, "[server]\nmax_concurrent_requests = 2\n", upstreamFunc(func(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
		entered <- struct{}{}
		<-leave
		w.WriteHeader(http.StatusNoContent)
		r.Record.Status = http.StatusNoContent
		return upstream.Outcome{}
	}))
	post := func() (*http.Response, error) {
		return http.Post(url+"/v1/messages", "application/json", strings.NewReader(`{"model":"x"}`))
	}
	for range 2 {
		go func() {
			if response, err := post(); err == nil {
				response.Body.Close()
			}
		}()
		<-entered
	}
	response, err := post()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if response.StatusCode != 503 || response.Header.Get("Retry-After") != "1" {
		t.Errorf("%d, retry-after %q", response.StatusCode, response.Header.Get("Retry-After"))
	}
	checkError(t, string(body), "overloaded_error")
	if health, err := http.Get(url + "/health"); err != nil || health.StatusCode != 200 {
		t.Errorf("health: %v", err)
	} else {
		health.Body.Close()
	}
	close(leave)
	<-records
	<-records
	go func() { <-entered }()
	if response, err = post(); err != nil || response.StatusCode != http.StatusNoContent {
		t.Errorf("after the others: %v %v", response, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// [server.timeouts] read_idle_ms: a body that stops coming is given up, one that comes slowly is not.
func TestSlowBody(t *testing.T) {
	url, _ := start(t, "[server.timeouts]\nread_idle_ms = 300\n", &echo{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, inferHead+"Content-Length: 13\r\n\r\n")
	for _, b := range `{"model":"x"}` {
		io.WriteString(conn, string(b))
		time.Sleep(40 * time.Millisecond) // over 300 ms in all
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("slow: %v %v", response, err)
	}
	response.Body.Close()

	response, body := raw(t, url, inferHead+"Content-Length: 13\r\n\r\n{\"mod")
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("stalled: %d", response.StatusCode)
	}
	checkError(t, body, "timeout_error")
}

// FO-9: a truncated response does not look complete to the client.
func TestBrokenAnswer(t *testing.T) {
	url, records := start(t, "", upstreamFunc(func(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
		io.WriteString(w, "half")
		http.NewResponseController(w).Flush()
		return upstream.Outcome{Aborted: true}
	}))
	response, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(`{"model":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err == nil || string(got) != "half" {
		t.Errorf("%q, %v", got, err)
	}
	<-records
}

// FO-5: the upstream's request ends when the client leaves.
func TestClientLeaves(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	url, records := start(t, "", upstreamFunc(func(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
		close(entered)
		<-r.Client.Context().Done()
		close(left)
		return upstream.Outcome{}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	request, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages", bytes.NewReader([]byte(`{"model":"x"}`)))
	go func() { <-entered; cancel() }()
	if _, err := http.DefaultClient.Do(request); err == nil {
		t.Error("there is a response")
	}
	<-left
	<-records
}

// FO-5: a client that has closed its half of the connection gets no response.
func TestHalfClosedClient(t *testing.T) {
	url, records := start(t, "", upstreamFunc(func(_ http.ResponseWriter, r *upstream.Request) upstream.Outcome {
		<-r.Client.Context().Done()
		return upstream.Outcome{}
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, inferHead+"Content-Length: 13\r\n\r\n{\"model\":\"x\"}")
	conn.(*net.TCPConn).CloseWrite()
	if response, _ := io.ReadAll(conn); len(response) > 0 {
		t.Errorf("response %q", response)
	}
	<-records
}
