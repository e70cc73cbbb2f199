package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/dialect/chat"
	"shunt/internal/dialect/messages"
	"shunt/internal/dialect/responses"
	"shunt/internal/gateway"
	"shunt/internal/observe"
	"shunt/internal/upstream"
)

// openToAll serves all dialects in front of an upstream, and returns what sends a request.
func openToAll(t *testing.T, toml string, u upstream.Upstream, env ...string) func(path string, body io.Reader, lines ...string) (int, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shunt.toml")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Options{Path: file, Families: families, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.New(gateway.Options{
		Version: "v1", Log: slog.New(slog.DiscardHandler), Record: func(*observe.Record) {},
		Dialects: []dialect.Inbound{messages.Dialect{}, responses.Dialect{}, chat.Dialect{}},
	}, &gateway.State{Config: cfg, Upstreams: map[string]upstream.Upstream{"anthropic": u}})
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return func(path string, body io.Reader, lines ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
}

func squeeze(t *testing.T, text string) string {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.EncodeAll([]byte(text), nil))
}

const openEndpoint = "[server.openai_endpoint]\nprovider = \"anthropic\"\n"

// GPT-10: a body that is compressed with zstd is read, and is passed on as it came. One that is not what it claims is a 400, and one
// that becomes too large a 413.
func TestCompressedBodies(t *testing.T) {
	send := openToAll(t, openEndpoint, upstreamFunc(func(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
		fmt.Fprintf(w, "%s %d %d", r.Model, len(r.Body.Bytes()), len(r.Compressed.Bytes()))
		r.Record.Status = http.StatusOK
		return upstream.Outcome{}
	}))
	body := `{"model":"m","input":"` + strings.Repeat("a", 5000) + `"}`
	small := squeeze(t, body)
	const path, encoded = "/v1/responses", "Content-Encoding: zstd"
	for _, c := range []struct {
		path, body, encoding string
		status               int
		want                 string
	}{
		{path, small, encoded, 200, fmt.Sprintf("m %d %d", len(body), len(small))},
		{"/codex/responses", small, encoded, 200, "m "},
		{path, body, encoded, 400, "is not valid zstd"},
		{path, small[:len(small)-3], encoded, 400, "is not valid zstd"},
		{path, "", encoded, 400, ""},
		{path, squeeze(t, `{"model":"m","input":"`+strings.Repeat("a", 65<<20)+`"}`), encoded, 413, "larger than"},
		{path, small, "Content-Encoding: gzip", 415, "zstd or not at all"},
		{path, small, "Content-Encoding: zstd, zstd", 415, ""},
		{"/v1/messages", small, encoded, 415, "cannot be routed"},
		{"/v1/chat/completions", small, encoded, 415, "cannot be routed"},
	} {
		if status, got := send(c.path, strings.NewReader(c.body), c.encoding); status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.encoding, status, got, c.status, c.want)
		}
	}
}

// AUTH-2c: without a token, a compressed body is read as far as its model, which must not use a credential of the operator's.
func TestCompressedBodyWithoutToken(t *testing.T) {
	const toml = openEndpoint + "[server.auth]\n[providers.anthropic]\nauth = \"passthrough\"\nbase_url = \"http://127.0.0.1:9\"\n" +
		"[providers.paid]\nauth = \"none\"\nbase_url = \"http://127.0.0.1:9\"\n[[routes]]\nmodel = \"paid\"\nprovider = \"paid\"\n"
	u := new(echo)
	send := openToAll(t, toml, u, "SHUNT_CLIENT_TOKENS=ann:the-token-of-a-client")
	for model, want := range map[string]int{"m": 200, "paid": 401} {
		body := squeeze(t, `{"model":"`+model+`","input":"`+strings.Repeat("b", 3000)+`"}`)
		if status, got := send("/v1/responses", strings.NewReader(body), "Content-Encoding: zstd"); status != want {
			t.Errorf("%s: %d %s", model, status, got)
		}
	}
}

// INB-5: without [server.openai_endpoint], there are only clients of Messages.
func TestOtherProtocolsAreClosed(t *testing.T) {
	u := new(echo)
	for toml, want := range map[string]int{"": 404, openEndpoint: 200} {
		send := openToAll(t, toml, u)
		for _, path := range []string{"/v1/responses", "/v1/chat/completions", "/backend-api/codex/responses"} {
			if status, got := send(path, strings.NewReader(`{"model":"m"}`)); status != want || want == 404 && !strings.Contains(got, "[server.openai_endpoint]") {
				t.Errorf("%s: %d %s", path, status, got)
			}
		}
		if status, got := send("/v1/messages", strings.NewReader(`{"model":"m"}`)); status != 200 {
			t.Errorf("%d %s", status, got)
		}
	}
}
