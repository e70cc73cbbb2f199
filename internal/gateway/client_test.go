package gateway_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"shunt/internal/gateway"
	"shunt/internal/observe"
)

// GPT-10: what a provider's own program requests besides inference.
func TestProgramEndpoints(t *testing.T) {
	d := &door{T: t}
	d.config = d.load("")
	var query string
	failure := errors.New("no account")
	g := gateway.New(gateway.Options{
		Dialects: dialects, Log: slog.New(slog.DiscardHandler), Record: func(*observe.Record) {},
		Fixed: []gateway.FixedEndpoint{
			{Method: "GET", Paths: []string{"/check", "/below/check"}, Respond: func(dst []byte, h http.Header) []byte { return append(dst, h.Get("X-Account")...) }},
			{Method: "POST", Paths: []string{"/events"}, Respond: func(dst []byte, _ http.Header) []byte { return append(dst, "{}"...) }},
		},
		ClientLists: []gateway.ClientList{{Query: "version", Paths: []string{"/below/models"}, Fetch: func(_ context.Context, q string) ([]byte, error) {
			query = q
			return []byte("[1]"), failure
		}}},
	}, d.state())
	ask := func(method, target, body string) (int, string) {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Host, r.Header = "127.0.0.1", http.Header{"X-Account": {"a-1"}}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		text, _ := io.ReadAll(w.Body)
		return w.Code, strings.TrimSpace(string(text))
	}
	for _, c := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/check", "", 200, "a-1"},
		{"GET", "/below/check", "", 200, "a-1"},
		{"POST", "/check", "", 405, ""},
		{"POST", "/events", `{"events":[]}`, 200, "{}"},
		{"GET", "/other/check", "", 404, ""},
		{"GET", "/v1/models?version=1", "", 404, ""},
	} {
		if status, got := ask(c.method, c.target, c.body); status != c.status || c.want != "" && got != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.target, status, got)
		}
	}
	failure = nil
	if status, got := ask("GET", "/below/models?version=1.2", ""); status != 200 || got != "[1]" || query != "version=1.2" {
		t.Errorf("models: %d %s, query %q", status, got, query)
	}
	if status, got := ask("GET", "/below/models", ""); status != 200 || !strings.Contains(got, `"data"`) {
		t.Errorf("the general list: %d %s", status, got)
	}
}

// GPT-10: a WebSocket upgrade gets 426.
func TestUpgradeRequired(t *testing.T) {
	url, _ := start(t, "", &echo{})
	response, body := raw(t, url, "GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if response.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}
