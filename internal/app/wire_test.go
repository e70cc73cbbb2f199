package app_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// ownAccount is a pool of one account whose UUID is known.
const ownUUID = "11111111-2222-4333-8444-555555555555"

func ownPool(more string) string {
	return poolOf("[[providers.anthropic.accounts]]\nname = \"a\"\nuuid = \"" + ownUUID + "\"\n" + more)
}

// WIRE-1, WIRE-3: of a client's header the provider sees all that is meant for it, the account's token in the place of the
// client's own, and nothing that the client did not send.
func TestHeadersThatTheProviderSees(t *testing.T) {
	claudeCode := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip, deflate, br, zstd"}, "Accept-Language": {"*"},
		"Anthropic-Beta": {"claude-code-20250219,interleaved-thinking-2025-05-14"}, "Anthropic-Version": {"2023-06-01"},
		"Anthropic-Dangerous-Direct-Browser-Access": {"true"}, "Content-Type": {"application/json"}, "Sec-Fetch-Mode": {"cors"},
		"User-Agent": {"claude-cli/2.0.0 (external, cli)"}, "X-App": {"cli"}, "X-Claude-Code-Session-Id": {"s-1"},
		"X-Stainless-Arch": {"x64"}, "X-Stainless-Os": {"Linux"}, "X-Stainless-Retry-Count": {"0"}, "X-Custom": {"one", "two"},
	}
	ends := http.Header{
		"Authorization": {"Bearer the-clients-own"}, "X-Api-Key": {"the-clients-key"}, "Cookie": {"c=1"}, "Forwarded": {"for=1.2.3.4"},
		"X-Forwarded-For": {"1.2.3.4"}, "X-Forwarded-Host": {"h"}, "X-Real-Ip": {"1.2.3.4"}, "Via": {"1.1 proxy"},
		"X-Shunt-Token": {"t"}, "X-Shunt-Account": {"b"}, "Te": {"trailers"}, "Proxy-Authorization": {"Basic x"},
		"Keep-Alive": {"timeout=5"}, "Connection": {"keep-alive, X-Per-Hop"}, "X-Per-Hop": {"1"},
	}
	all := claudeCode.Clone()
	maps.Copy(all, ends)
	for _, c := range []struct {
		name   string
		header http.Header
		stream bool
		coding string // accept-encoding upstream
		beta   []string
		rest   http.Header
	}{
		{"Claude Code, streamed", all, true, "identity", []string{"claude-code-20250219,interleaved-thinking-2025-05-14,oauth-2025-04-20"}, claudeCode},
		{"Claude Code, not streamed", all, false, "gzip, deflate, br, zstd", []string{"claude-code-20250219,interleaved-thinking-2025-05-14,oauth-2025-04-20"}, claudeCode},
		{"next to nothing", simtest.Minimal, false, "", []string{"oauth-2025-04-20"}, simtest.Minimal},
		{"next to nothing, streamed", simtest.Minimal, true, "identity", []string{"oauth-2025-04-20"}, simtest.Minimal},
		{"beta on two lines", simtest.With(simtest.Minimal, "Anthropic-Beta", "a", "Anthropic-Beta", "b,c"), false, "", []string{"a,b,c,oauth-2025-04-20"}, simtest.Minimal},
		{"beta there on one line", simtest.With(simtest.Minimal, "Anthropic-Beta", "a", "Anthropic-Beta", "b , oauth-2025-04-20"), false, "", []string{"a", "b , oauth-2025-04-20"}, simtest.Minimal},
		{"an empty beta", simtest.With(simtest.Minimal, "Anthropic-Beta", ""), false, "", []string{"oauth-2025-04-20"}, simtest.Minimal},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(""), func(w *world) {
				if got := w.Send(sim.MessagesPath, c.header, simtest.Body(simtest.PlainModel, c.stream)); got.Status != 200 {
					w.Fatalf("%d: %s", got.Status, got.Body)
				}
				r := w.Received()
				want := c.rest.Clone()
				want.Set("Authorization", "Bearer "+w.Provider.Token("a"))
				want["Anthropic-Beta"] = c.beta
				want.Del("Accept-Encoding")
				if c.coding != "" {
					want.Set("Accept-Encoding", c.coding)
				}
				got := r.Header.Clone()
				got.Del("Content-Length")
				if diff := cmp.Diff(want, got); diff != "" {
					w.Errorf("(-want +got):\n%s", diff)
				}
				if r.Host != "127.0.0.1:8001" || r.Header.Get("Content-Length") == "" {
					w.Errorf("host %q, %v", r.Host, r.Header)
				}
			})
		})
	}
}

// WIRE-5, WIRE-6, RTE-3: bodies go out byte for byte, but for the model's mark and the account's UUID.
func TestBodiesThatTheProviderSees(t *testing.T) {
	const uuid = `\"` + ownUUID + `\"`
	for _, c := range []struct{ name, sent, want string }{
		{"compact", `{"model":"claude-x","stream":false}`, ""},
		{"white space", "\r\n\t {\n \"model\" :\t\"claude-x\" ,\n\n\"messages\"\t:[ ]\r\n}\n \t", ""},
		{"odd order, unknown and repeated keys", `{"zz":1,"messages":[],"a":{"model":"inner"},"zz":2,"model":"claude-x","messages":[1]}`, ""},
		{"number forms", `{"model":"claude-x","n":[1.0,1e2,1E+2,-0,0.10,123456789012345678901234567890,1e-400]}`, ""},
		{"escapes", `{"model":"claude-x","m":"\u00e9\/\ud83e\udd8a\u0000\"\\ é 🦊 <>&"}`, ""},
		{"a lone surrogate and raw bytes", "{\"model\":\"claude-x\",\"m\":\"\\ud800 \xff\xfe\"}", ""},
		{"an escaped model", `{"mod\u0065l":"cl\u0061ude-x"}`, ""},
		{"broken further down", `{"model":"claude-x","messages":[{"role":nonsense,,}]}`, ""},
		{"the mark", `{ "x":1 , "model" : "claude-x[1m]", "y":"claude-x[1m]"}`, `{ "x":1 , "model" : "claude-x", "y":"claude-x[1m]"}`},
		{"an escaped mark", `{"model":"claude-x\u005b1M]","z":0}`, `{"model":"claude-x","z":0}`},
		{
			"uuid", `{"model":"claude-x","metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"theirs\",\"session_id\":\"s\"}"}}`,
			`{"model":"claude-x","metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":` + uuid + `,\"session_id\":\"s\"}"}}`,
		},
		{
			"uuid and mark", `{"metadata":{"user_id":"{\"account_uuid\":\"\"}"},"model":"claude-x[1m]"}`,
			`{"metadata":{"user_id":"{\"account_uuid\":` + uuid + `}"},"model":"claude-x"}`,
		},
		{
			"uuid is null", `{"model":"claude-x","metadata":{"user_id":"{ \"account_uuid\" : null }"}}`,
			`{"model":"claude-x","metadata":{"user_id":"{ \"account_uuid\" : ` + uuid + ` }"}}`,
		},
		{
			"uuid is a number", `{"model":"claude-x","metadata":{"user_id":"{\"account_uuid\":12.5e3,\"b\":1}"}}`,
			`{"model":"claude-x","metadata":{"user_id":"{\"account_uuid\":` + uuid + `,\"b\":1}"}}`,
		},
		{
			"uuid is an object", `{"model":"claude-x","metadata":{"user_id":"{\"account_uuid\":{\"a\":[1,\"}\"]},\"b\":1}"}}`,
			`{"model":"claude-x","metadata":{"user_id":"{\"account_uuid\":` + uuid + `,\"b\":1}"}}`,
		},
		{
			"uuid in escapes", `{"model":"claude-x","metadata":{"user_id":"\u007b\u0022account\u005fuuid\u0022:\u0022theirs\u0022\u007d"}}`,
			`{"model":"claude-x","metadata":{"user_id":"\u007b\u0022account\u005fuuid\u0022:` + uuid + `\u007d"}}`,
		},
		{
			"the last user_id", `{"model":"claude-x","metadata":{"user_id":"{\"account_uuid\":\"1\"}","user_id":"{\"account_uuid\":\"2\"}"}}`,
			`{"model":"claude-x","metadata":{"user_id":"{\"account_uuid\":\"1\"}","user_id":"{\"account_uuid\":` + uuid + `}"}}`,
		},
		{"no uuid in it", `{"model":"claude-x","metadata":{"user_id":"{\"device_id\":\"d\"}"}}`, ""},
		{"the old form", `{"model":"claude-x","metadata":{"user_id":"user_0a_account_theirs_session_1"}}`, ""},
		{"half an object", `{"model":"claude-x","metadata":{"user_id":"{\"account_uuid\":\"theirs\""}}`, ""},
		{"not a string", `{"model":"claude-x","metadata":{"user_id":{"account_uuid":"theirs"}}}`, ""},
		{"elsewhere", `{"model":"claude-x","account_uuid":"theirs","user_id":"{\"account_uuid\":\"theirs\"}","m":{"metadata":{"user_id":"{\"account_uuid\":\"theirs\"}"}}}`, ""},
		{"large", `{"model":"claude-x","messages":"` + strings.Repeat("\\u00e9 x\t", 1<<17) + `"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, ownPool(""), func(w *world) {
				w.Send(sim.MessagesPath, simtest.Minimal, c.sent)
				want := c.want
				if want == "" {
					want = c.sent
				}
				if r := w.Received(); string(r.Body) != want {
					w.Errorf("got  %.300q\nwant %.300q", r.Body, want)
				}
			})
		})
	}
}

// WIRE-6: an account without a known UUID leaves the client's alone.
func TestNoUUIDNoSplice(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(""), func(w *world) {
		w.MustServe("s", simtest.PlainModel)
		if r := w.Received(); string(r.Body) != simtest.Body(simtest.PlainModel, true) {
			w.Errorf("%s", r.Body)
		}
	})
}

// FO-7, WIRE-6: every attempt sends the client's bytes with the UUID of its own account.
func TestEveryAttemptBearsItsOwnUUID(t *testing.T) {
	accounts := "[[providers.anthropic.accounts]]\nname = \"a\"\nuuid = \"uuid-a\"\n[[providers.anthropic.accounts]]\nname = \"b\"\nuuid = \"uuid-b\"\n"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(accounts), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject(home, sim.ResetConnection().Times(2))
		before := w.Seen()
		if r := w.Request("s", simtest.PlainModel, true); r.Status != 200 || r.Account == home {
			w.Fatalf("%d by %s", r.Status, r.Account)
		}
		synctest.Wait() // the provider notes a request that it reset after its connection has ended
		requests := w.Provider.Requests()[before:]
		if len(requests) != 3 {
			w.Fatalf("%d requests", len(requests))
		}
		for _, r := range requests {
			if want := strings.Replace(simtest.Body(simtest.PlainModel, true), "theirs", "uuid-"+r.Account, 1); string(r.Body) != want {
				w.Errorf("%s got %s", r.Account, r.Body)
			}
		}
	})
}

// WIRE-4: the query is kept as it was sent, and the path is appended to the base URL's.
func TestTargets(t *testing.T) {
	for base, prefix := range map[string]string{"": "", "/": "", "/proxy/v2": "/proxy/v2", "/proxy/": "/proxy", "/a%2Fb": "/a%2Fb", "/a%20b/": "/a%20b"} {
		toml := strings.Replace(poolOf(""), simtest.ProviderURL, simtest.ProviderURL+base, 1)
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, toml, func(w *world) {
			for _, target := range []string{
				"/v1/messages", "/v1/messages?beta=true", "/v1/messages?", "/v1/messages?a=%2f+%20&a=b;c&%zz", "/v1/messages/count_tokens?beta=true",
			} {
				w.Send(target, simtest.Minimal, simtest.Body(simtest.PlainModel, false))
				if r := w.Received(); r.Path != prefix+target {
					w.Errorf("base %q: %s arrived as %s", base, target, r.Path)
				}
			}
		})
	}
}

// WIRE-7: a compressed request body is refused, however it is announced, and goes nowhere.
func TestCompressedRequestBodies(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(""), func(w *world) {
		for _, lines := range [][]string{{"gzip"}, {"ZSTD"}, {"identity", "gzip"}, {"", "br"}, {"identity, gzip"}} {
			header := simtest.Minimal.Clone()
			header["Content-Encoding"] = lines
			got := w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, false))
			if kind, _, _ := messages.ParseError([]byte(got.Body)); got.Status != 415 || kind != messages.TypeInvalidRequest {
				w.Errorf("%q: %d %s", lines, got.Status, got.Body)
			}
		}
		if w.Seen() != 0 {
			w.Errorf("%d requests reached the provider", w.Seen())
		}
		if got := w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "Content-Encoding", "Identity"), simtest.Body(simtest.PlainModel, false)); got.Status != 200 {
			w.Errorf("identity: %d %s", got.Status, got.Body)
		}
	})
}

// WIRE-10, WIRE-14: a compressed answer goes through as it is, with its length; cookies end here; CHN-3.
func TestCompressedAnswersStayCompressed(t *testing.T) {
	for _, coding := range []string{"", "gzip", "br", "zstd"} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1), Encodings: []string{coding}[:min(len(coding), 1)]}, poolOf(""), func(w *world) {
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

// ERR-2, WIRE-10: an error of the provider's reaches the client word for word, under the account's name.
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
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(""), func(w *world) {
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

// CHN-3: a model that could not stand in a header is left out; the others stay.
func TestModelsThatCannotStandInAHeader(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(""), func(w *world) {
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

// RTE-3: the client gets back the model it asked for, streamed or not, and an answer that came compressed all the same
// passes unchanged.
func TestModelIsPutBack(t *testing.T) {
	const model = simtest.PlainModel + "[1m]"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1), Encodings: []string{"gzip"}}, poolOf(""), func(w *world) {
		header := simtest.With(simtest.Minimal, "Accept-Encoding", "gzip")
		for _, stream := range []bool{true, false} {
			got := w.Send(sim.MessagesPath, header, simtest.Body(model, stream))
			if r := w.Received(); r.Model != simtest.PlainModel || r.Header.Get("Accept-Encoding") != "identity" {
				w.Errorf("stream %v: asked for %s, accept-encoding %q", stream, r.Model, r.Header.Get("Accept-Encoding"))
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

// WIRE-4: nothing but the endpoints reaches the provider with a pool credential, however it is dressed up.
func TestOnlyEndpointsGetACredential(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(""), func(w *world) {
		for _, target := range []string{
			"/v1/messages/", "/v1/messages/batches", "/v1/complete", "/v1/files", "/v1//messages", "/v1/./messages",
			"/v1/x/../messages", "/v1/%6dessages", "/v1/messages%2f", "/v1/messages;x", "/api/oauth/usage", "/v1/oauth/token",
		} {
			request, err := http.NewRequest(http.MethodPost, simtest.GatewayURL, bytes.NewReader([]byte(simtest.Body(simtest.PlainModel, false))))
			if err != nil {
				w.Fatal(err)
			}
			request.URL.Opaque = target
			response, err := w.Client.Do(request)
			if err != nil {
				w.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if kind, _, _ := messages.ParseError(body); response.StatusCode != 404 || kind != messages.TypeNotFound {
				w.Errorf("%s: %d %s", target, response.StatusCode, body)
			}
		}
		if w.Seen() != 0 {
			w.Errorf("%d requests reached the provider", w.Seen())
		}
	})
}
