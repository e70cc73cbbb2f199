package upstream_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// WIRE-10, WIRE-14: a compressed response is relayed unchanged, with its length but without cookies; CHN-3.
func TestCompressedResponsesStayCompressed(t *testing.T) {
	for _, coding := range []string{"", "gzip", "br", "zstd"} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1), Encodings: []string{coding}[:min(len(coding), 1)]}, poolOf(), func(w *world) {
			header := simtest.With(simtest.Minimal, "Accept-Encoding", "gzip, br, zstd")
			got := w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, false))
			direct := w.Direct(sim.MessagesPath, simtest.With(header, "Anthropic-Beta", "oauth-2025-04-20"), simtest.Body(simtest.PlainModel, false))
			if got.Status != 200 || got.Body != direct.Body {
				w.Errorf("%s: %d, %d bytes where %d were sent", coding, got.Status, len(got.Body), len(direct.Body))
			}
			want := direct.Header.Clone()
			want.Del("Set-Cookie")
			want.Set("X-Shunt-Account", "a")
			want.Set("X-Gateway-Upstream", "anthropic")
			want.Set("X-Gateway-Model", simtest.PlainModel)
			want.Set("X-Gateway-Upstream-Model", simtest.PlainModel)
			// What differs from request to request.
			for _, name := range []string{"Request-Id", "Anthropic-Ratelimit-Unified-5h-Utilization", "Anthropic-Ratelimit-Unified-7d-Utilization"} {
				if got.Header.Get(name) == "" {
					w.Errorf("no %s", name)
				}
				want.Set(name, got.Header.Get(name))
			}
			if diff := cmp.Diff(want, got.Header); diff != "" {
				w.Errorf("%s (-want +got):\n%s", coding, diff)
			}
			if got.Header.Get("Content-Length") == "" || got.Header.Get("Content-Encoding") != coding {
				w.Errorf("%s: %v", coding, got.Header)
			}
		})
	}
}

// ERR-2, WIRE-10: an error of the provider's is relayed byte for byte, with the account's name.
func TestErrorsAreVerbatim(t *testing.T) {
	const odd = "{ \"type\":\"error\" ,\n\"error\":{\"message\":\"prompt is too long: 200001 tokens > 200000 maximum \\u2026 <b>\",\"type\":\"invalid_request_error\"},\"extra\":[1.0]}\n"
	for _, c := range []struct {
		status int
		kind   string // content-type, empty: none
		body   string
	}{
		{400, "application/json", odd},
		{403, "application/json", odd},
		{404, "text/html; charset=iso-8859-1", "<html>\xe9</html>"},
		{413, "", "plain text without a type"},
		{422, "application/problem+json", odd},
		{409, "application/json", ""},
		{307, "", "moved"},
		{402, "application/octet-stream", strings.Repeat("\x00\xff", 100_000)},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
				h := rw.Header()
				h["Content-Type"] = nil
				if c.kind != "" {
					h.Set("Content-Type", c.kind)
				}
				h.Set("X-Shunt-Account", "forged")
				h.Set("X-Gateway-Model", "forged")
				h.Set("X-Should-Retry", "false")
				h.Set("Location", "https://elsewhere.example/")
				rw.WriteHeader(c.status)
				io.WriteString(rw, c.body)
			}))
			for _, stream := range []bool{false, true} {
				got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, stream))
				if got.Status != c.status || got.Body != c.body || got.Err != nil {
					w.Errorf("%d became %d, %v: %q", c.status, got.Status, got.Err, got.Body)
				}
				if kind := got.Header.Values("Content-Type"); len(kind) > 1 || strings.Join(kind, "") != c.kind {
					w.Errorf("%d: content-type %q", c.status, kind)
				}
				if a := got.Header.Get("X-Shunt-Account"); a != "a" && a != "b" || len(got.Header["X-Shunt-Account"]) != 1 {
					w.Errorf("%d: by %q", c.status, got.Header["X-Shunt-Account"])
				}
				if got.Header.Get("X-Gateway-Model") != simtest.PlainModel || got.Header.Get("X-Should-Retry") != "false" {
					w.Errorf("%d: %v", c.status, got.Header)
				}
			}
			if calls := w.Calls(0); len(calls) != 2 {
				w.Errorf("%d: %d calls", c.status, len(calls))
			}
		})
	}
}

// CHN-3: a model that is not valid in a header is left out; the others stay.
func TestModelsThatAreNotValidInAHeader(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		for _, model := range []string{"claude-é", `claude\nx`} {
			got := w.Send(sim.MessagesPath, simtest.Minimal, `{"model":"`+model+`","max_tokens":5,"messages":[1]}`)
			if got.Header.Get("X-Shunt-Account") != "a" || got.Header["X-Gateway-Model"] != nil || got.Header["X-Gateway-Upstream-Model"] != nil || got.Header.Get("X-Gateway-Upstream") != "anthropic" {
				w.Errorf("%.20s: %d %v %s", model, got.Status, got.Header, got.Body)
			}
		}
		got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel+"[1M]", false))
		if got.Header.Get("X-Gateway-Model") != simtest.PlainModel+"[1M]" || got.Header.Get("X-Gateway-Upstream-Model") != simtest.PlainModel {
			w.Errorf("%v", got.Header)
		}
	})
}

// RTE-3: the client gets the model's name that it sent, streamed or not; a response that is compressed nevertheless is relayed
// unchanged.
func TestModelIsRestored(t *testing.T) {
	const model = simtest.PlainModel + "[1m]"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1), Encodings: []string{"gzip"}}, poolOf(), func(w *world) {
		header := simtest.With(simtest.Minimal, "Accept-Encoding", "gzip")
		for _, stream := range []bool{true, false} {
			got := w.Send(sim.MessagesPath, header, simtest.Body(model, stream))
			if r := w.Received(); r.Model != simtest.PlainModel || r.Header.Get("Accept-Encoding") != "identity" {
				w.Errorf("stream %v: requested %s, accept-encoding %q", stream, r.Model, r.Header.Get("Accept-Encoding"))
			}
			direct := w.Direct(sim.MessagesPath, simtest.With(simtest.Minimal, "Anthropic-Beta", "oauth-2025-04-20"), simtest.Body(simtest.PlainModel, stream))
			if want := strings.Replace(direct.Body, simtest.PlainModel, model, 1); got.Status != 200 || got.Body != want {
				w.Errorf("stream %v: got  %.400s\nwant %.400s", stream, got.Body, want)
			}
			if length := got.Header.Get("Content-Length"); stream != (length == "") {
				w.Errorf("stream %v: content-length %q", stream, length)
			}
			if r := w.Request("", model, stream); r.Err != nil || r.Response.Model != model {
				w.Errorf("stream %v: %v by %s", stream, r.Err, r.Response.Model)
			}

			w.Provider.Inject("a", sim.Encoded("gzip").Times(2))
			got = w.Send(sim.MessagesPath, header, simtest.Body(model, stream))
			direct = w.Direct(sim.MessagesPath, simtest.With(simtest.Minimal, "Anthropic-Beta", "oauth-2025-04-20"), simtest.Body(simtest.PlainModel, stream))
			if got.Status != 200 || got.Header.Get("Content-Encoding") != "gzip" || got.Body != direct.Body {
				w.Errorf("stream %v, compressed: %d %v, equal %v", stream, got.Status, got.Header, got.Body == direct.Body)
			}
		}
		got := w.Send(sim.CountTokensPath, header, simtest.Body(model, false))
		if got.Status != 200 || !strings.Contains(got.Body, "input_tokens") {
			w.Errorf("count_tokens: %d %s", got.Status, got.Body)
		}
	})
}
