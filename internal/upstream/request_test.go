package upstream_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

const ownUUID = "11111111-2222-4333-8444-555555555555"

// WIRE-1, WIRE-3: the provider receives every header of the client's that is meant for it, the account's token in place of the
// client's, and nothing that the client did not send.
func TestHeadersThatTheProviderReceives(t *testing.T) {
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
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
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

// WIRE-5, WIRE-6, RTE-3: bodies are sent byte for byte, except for the model's mark and the account's UUID.
func TestBodiesThatTheProviderReceives(t *testing.T) {
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
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(known("a", ownUUID)), func(w *world) {
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

// WIRE-6: an account without a known UUID leaves the client's unchanged.
func TestNoUUIDNoSplice(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.MustServe("s", simtest.PlainModel)
		if r := w.Received(); string(r.Body) != simtest.Body(simtest.PlainModel, true) {
			w.Errorf("%s", r.Body)
		}
	})
}

// FO-7, WIRE-6: every attempt sends the client's bytes with the UUID of its own account.
func TestEveryAttemptHasItsOwnUUID(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(known("a", "uuid-a"), known("b", "uuid-b")), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject(home, sim.ResetConnection().Times(2))
		before := w.Seen()
		if r := w.Request("s", simtest.PlainModel, true); r.Status != 200 || r.Account == home {
			w.Fatalf("%d by %s", r.Status, r.Account)
		}
		synctest.Wait() // the provider records a request that it reset when the connection has ended
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
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf().at(simtest.ProviderURL+base), func(w *world) {
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
