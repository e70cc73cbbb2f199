package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"shunt/internal/upstream"
)

// AUTH-2, ERR-3: what a person reads in Claude Code when shunt itself refuses a request. A refusal that will not change says
// so (x-should-retry: false), as the client else retries for minutes without showing why; one that may change says when
// (retry-after). None has the words that make Claude Code ask for a login, and each says what to do.
func TestRefusalsSayWhatToDo(t *testing.T) {
	const limits = "[server.limits]\nmax_request_bytes = 1000\nmax_request_header_bytes = 2000\nmax_url_length = 300\n"
	const addresses = "[server.access_control]\ndeny_cidrs = [\"10.0.0.0/8\"]\n"
	post := func(body string, headers ...string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
		r.Host, r.RemoteAddr = "localhost", local
		r.Header.Set("X-Claude-Code-Session-Id", "s")
		for _, line := range headers {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Add(name, value)
		}
		return r
	}
	change := func(f func(*http.Request)) *http.Request {
		r := post(`{"model":"pass"}`)
		f(r)
		return r
	}
	for name, c := range map[string]struct {
		toml    string
		request *http.Request
		status  int
		says    string
	}{
		"no token":         {closed + threeWays, post(`{"model":"pool"}`), 401, "set ANTHROPIC_AUTH_TOKEN to one that its operator gave you, or send it in the header x-team-token"},
		"no token, closed": {closed + "[providers.anthropic]\nauth = \"claude_oauth\"\n", post(`{"model":"pool"}`), 401, "x-team-token"},
		"wrong token":      {closed + threeWays, post(`{"model":"pool"}`, "Authorization: Bearer wrong"), 401, "x-team-token"},
		"address":          {addresses, change(func(r *http.Request) { r.RemoteAddr = "10.1.1.1:1" }), 403, "ask its operator"},
		"host":             {"", change(func(r *http.Request) { r.Host = "evil.example" }), 403, "server.allowed_hosts"},
		"web page":         {"", post(`{"model":"pass"}`, "Sec-Fetch-Site: cross-site"), 403, "not a web page"},
		"too large":        {limits, post(`{"model":"pass","x":"` + strings.Repeat("x", 1000) + `"}`), 413, "max_request_bytes"},
		"encoding":         {"", post(`{}`, "Content-Encoding: gzip"), 415, "without content-encoding"},
		"long URL":         {limits, change(func(r *http.Request) { r.RequestURI += "?" + strings.Repeat("x", 300) }), 414, "shorten it"},
		"many headers":     {limits, post(`{"model":"pass"}`, "X-Flood: "+strings.Repeat("x", 2000)), 431, "send fewer"},
		"not found":        {"", change(func(r *http.Request) { r.URL.Path = "/v1/v1/messages" }), 404, "check the base URL"},
		"method":           {"", change(func(r *http.Request) { r.Method = http.MethodPut }), 405, "accepts POST only"},
		"no JSON":          {"", post(`model`), 400, "JSON object"},
	} {
		d := open(t, c.toml)
		w := httptest.NewRecorder()
		d.gateway.ServeHTTP(w, c.request)
		checkRefusal(t, name, w, c.status, c.says)
		if w.Header().Get("X-Should-Retry") != "false" || w.Header().Get("Retry-After") != "" {
			t.Errorf("%s: %v", name, w.Header())
		}
		if d.shown != nil {
			t.Errorf("%s: reached an upstream", name)
		}
	}

	d := open(t, "[server]\nmax_concurrent_requests = 1\n")
	inside, outside := httptest.NewRecorder(), httptest.NewRecorder()
	d.serveWith(func(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
		d.gateway.ServeHTTP(inside, post(`{"model":"pass"}`)) // while the slot is taken
		r.Record.Status = http.StatusOK
		return upstream.Outcome{}
	})
	d.gateway.ServeHTTP(outside, post(`{"model":"pass"}`))
	checkRefusal(t, "too many", inside, 503, "try again in a moment")
	if inside.Header().Get("X-Should-Retry") != "" || inside.Header().Get("Retry-After") != "1" {
		t.Errorf("too many: %v", inside.Header())
	}
}

func checkRefusal(t *testing.T, name string, w *httptest.ResponseRecorder, status int, says string) {
	t.Helper()
	var body struct{ Error struct{ Message string } }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != status || !strings.Contains(body.Error.Message, says) {
		t.Errorf("%s: %d %s", name, w.Code, w.Body)
	}
	for _, misleading := range []string{"x-api-key", "login", "log in"} {
		if strings.Contains(strings.ToLower(w.Body.String()), misleading) {
			t.Errorf("%s: %q in %s", name, misleading, w.Body)
		}
	}
}

// serveWith has every upstream serve with f.
func (d *door) serveWith(f func(http.ResponseWriter, *upstream.Request) upstream.Outcome) {
	s := d.state()
	for name := range s.Upstreams {
		s.Upstreams[name] = upstreamFunc(f)
	}
	d.gateway.Swap(s)
}

// A refusal of a request whose body was not read ends the connection, and does not wait for the body.
func TestRefusalsDoNotReadOn(t *testing.T) {
	url, _ := start(t, "", &echo{})
	for _, request := range []string{
		"POST /nothing HTTP/1.1\r\nHost: localhost\r\n",
		"GET /v1/messages HTTP/1.1\r\nHost: localhost\r\n",
		inferHead + "Content-Encoding: gzip\r\n",
		"POST /v1/messages HTTP/1.1\r\nHost: evil.example\r\n",
	} {
		for _, framing := range []string{"Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
			if response, body := raw(t, url, request+framing); response.StatusCode < 400 || !response.Close {
				t.Errorf("%q: %d, closes %v: %s", request, response.StatusCode, response.Close, body)
			}
		}
	}
	if response, _ := raw(t, url, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"); response.Close {
		t.Error("a refusal without a body ends the connection")
	}
}

// The endpoint table: the aliases of /health are what it is, and skip the allow rule as it does.
func TestHealthAliases(t *testing.T) {
	d := open(t, "[server.access_control]\nallow_cidrs = [\"10.0.0.0/8\"]\ndeny_cidrs = [\"192.0.2.0/24\"]\n")
	for _, path := range []string{"/health", "/healthz", "/livez"} {
		for from, want := range map[string]int{"10.1.1.1:1": 200, local: 200, "192.0.2.1:1": 403} {
			w := d.send(path, "", from)
			if w.Code != want || want == 200 && w.Body.String() != fmt.Sprintf("{%q:%q,%q:%q}\n", "status", "ok", "version", "v1") {
				t.Errorf("%s from %s: %d %s", path, from, w.Code, w.Body)
			}
		}
	}
}
