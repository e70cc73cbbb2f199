package upstream_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/family/keyed"
	"shunt/internal/observe"
	"shunt/internal/secret"
	"shunt/internal/sim/simtest"
	"shunt/internal/upstream"
)

// Bodies of a Messages client.
const (
	plainTurn  = `{"model":"claude-x","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
	streamTurn = `{"model":"claude-x","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// spoken is a response of the upstream's with a text.
var spoken = streamed(
	`{"type":"response.created","response":{"id":"resp_1"}}`,
	`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}`,
	`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hello"}`,
	`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1"}}`,
	`{"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":7,"output_tokens":5}}}`,
)

// thought is a response with reasoning that only the account can read, and a text.
func thought(token string) http.HandlerFunc {
	return streamed(
		`{"type":"response.created","response":{"id":"resp_1"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hmm"}],"encrypted_content":"`+token+`"}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"hello"}]}}`,
		`{"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":7,"output_tokens":5}}}`,
	)
}

var inTime = upstream.Times{CommitAfter: 20 * time.Second, KeepAlive: 15 * time.Second, Idle: 5 * time.Minute}

// say sends a Messages request to the pool, for a model of the upstream.
func (s *stage) say(text, session string, lines ...string) (*httptest.ResponseRecorder, *upstream.Failure, *observe.Record) {
	s.Helper()
	return s.sendBody(messages.Dialect{}, text, inTime, s.pool, "", append(lines, "X-Claude-Code-Session-Id: "+session, "X-Test-Model: gpt-5.5")...)
}

// DIA-1, GPT-5, FAM-5: a Messages request reaches ChatGPT as one of its own, by its name, and with nothing of the client's.
func TestTranslatedRequest(t *testing.T) {
	inStage(t, func(s *stage) {
		s.script("", spoken)
		w, failure, record := s.say(plainTurn, "secret-session", "User-Agent: claude-cli", "X-App: cli", "Anthropic-Version: 2023-06-01", "Anthropic-Beta: b")
		if failure != nil || !strings.Contains(w.Body.String(), `"text":"hello"`) || !strings.Contains(w.Body.String(), `"model":"claude-x"`) {
			t.Fatalf("%+v %s", failure, w.Body)
		}
		got := s.last()
		if got.target != "/backend-api/codex/responses" || !strings.Contains(got.body, `"store":false`) || strings.Contains(got.body, "max_output_tokens") {
			t.Errorf("%s %s", got.target, got.body)
		}
		for name, want := range map[string]string{
			"User-Agent": "shunt/v1", "Originator": "shunt", "Accept": "text/event-stream", "Content-Type": "application/json",
			"Accept-Encoding": "identity", "Authorization": "Bearer token-" + record.Account, "Chatgpt-Account-Id": "id-" + record.Account,
			"X-App": "", "Anthropic-Version": "", "Anthropic-Beta": "", "X-Claude-Code-Session-Id": "",
		} {
			if value := got.header.Get(name); value != want {
				t.Errorf("%s: %q, want %q", name, value, want)
			}
		}
		session := got.header.Get("Session-Id")
		if session == "" || session != got.header.Get("Thread-Id") || !strings.Contains(got.body, `"prompt_cache_key":"`+session+`"`) {
			t.Errorf("session %q in %s", session, got.body)
		}
		if strings.Contains(got.body, "secret-session") || w.Header().Get("X-Shunt-Account") != record.Account || record.Tokens.Input != 7 {
			t.Errorf("%v %+v", w.Header(), record.Tokens)
		}
	})
}

// DIA-3, FAM-8: a client that streams gets its events, with the headers of the account if they come in time.
func TestTranslatedStream(t *testing.T) {
	inStage(t, func(s *stage) {
		s.script("", spoken)
		w, failure, record := s.say(streamTurn, "s")
		body := w.Body.String()
		if failure != nil || !strings.Contains(body, "event: message_start") || !strings.HasSuffix(body, "data: {\"type\":\"message_stop\"}\n\n") {
			t.Fatalf("%+v %s", failure, body)
		}
		if h := w.Header(); h.Get("Content-Type") != "text/event-stream" || h.Get("X-Shunt-Account") != record.Account || h.Get("X-Gateway-Model") != "claude-x" {
			t.Errorf("%v", h)
		}
		if record.End != "" || record.Status != 200 || record.BytesOut != int64(len(body)) {
			t.Errorf("%+v", record)
		}
	})
}

// DIA-3, GPT-5: a client of the upstream's own dialect that wants one document gets it assembled from the only form that there is.
func TestDocumentOfStreamOnlyUpstream(t *testing.T) {
	inStage(t, func(s *stage) {
		s.family.StreamOnly = true
		s.configure()
		s.script("", spoken)
		w, failure, _ := s.request("s")
		if failure != nil || !strings.Contains(w.Body.String(), `"text":"hello"`) || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%+v %s", failure, w.Body)
		}
		if got := s.last(); !strings.Contains(got.body, `"stream":true`) {
			t.Errorf("%s", got.body)
		}
	})
}

// GPT-10: in the upstream's own dialect the body passes, to the upstream's own path.
func TestNativePath(t *testing.T) {
	inStage(t, func(s *stage) {
		s.home("s")
		if got := s.last(); got.target != "/backend-api/codex/responses" || got.body != turn {
			t.Errorf("%s %s", got.target, got.body)
		}
	})
}

// FAM-7, FAM-8: a stream that fails before its content costs the client nothing; neither does one that ends early.
func TestTranslatedStreamMovesOn(t *testing.T) {
	for name, broken := range map[string]http.HandlerFunc{
		"failed":    streamed(`{"type":"response.created","response":{}}`, `{"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"busy"}}}`),
		"truncated": streamed(`{"type":"response.created","response":{}}`),
		"rejected":  respond(429, `{"error":{"type":"usage_limit_reached","message":"used up","resets_in_seconds":3600}}`),
	} {
		t.Run(name, func(t *testing.T) {
			inStage(t, func(s *stage) {
				s.script("", spoken)
				first := s.home("s") // its reply is consumed
				s.script("", spoken, spoken)
				s.script(first, broken)
				w, failure, record := s.say(streamTurn, "s")
				if failure != nil || !strings.Contains(w.Body.String(), "message_stop") || record.Account == first || len(record.Rotations) != 1 {
					t.Errorf("%+v %s %+v", failure, w.Body, record)
				}
			})
		})
	}
}

// DIA-6, GPT-8: when every account rejects, the client gets the rejection in its own dialect, and when to come back.
func TestTranslatedRejection(t *testing.T) {
	inStage(t, func(s *stage) {
		s.script("", respond(429, `{"error":{"type":"usage_limit_reached","message":"You have hit your limit.","resets_in_seconds":7200}}`))
		for _, text := range []string{plainTurn, streamTurn} {
			w, f, _ := s.say(text, "s")
			if f == nil || f.Status != 429 || f.Message != "You have hit your limit." || f.RetryAfter < time.Hour || !f.Final || w.Body.Len() > 0 {
				t.Errorf("%+v", f)
			}
			if h := w.Header(); h.Get("X-Shunt-Pool") != "exhausted" {
				t.Errorf("%v", h)
			}
			s.script("", respond(429, `{"error":{"type":"usage_limit_reached","message":"You have hit your limit.","resets_in_seconds":7200}}`))
		}
	})
}

// DIA-6: a response about the request is the client's, in its own dialect.
func TestTranslatedError(t *testing.T) {
	inStage(t, func(s *stage) {
		s.script("", respond(404, `{"detail":"no such model"}`), respond(400, `{"error":{"code":"invalid_value","message":"bad tool"}}`))
		for _, want := range []upstream.Failure{{Status: 404, Message: "no such model"}, {Status: 400, Message: "bad tool"}} {
			_, f, record := s.say(streamTurn, "s")
			if f == nil || f.Status != want.Status || f.Message != want.Message || record.Attempts != 1 {
				t.Errorf("%+v, want %+v", f, want)
			}
		}
	})
}

// FAM-8: while accounts fail slowly, a committed client gets pings, and one error event at the end.
func TestCommittedFailure(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(25 * time.Second)
		respond(529, `{"error":{"code":"server_is_overloaded","message":"busy"}}`)(w, r)
	}
	inStage(t, func(s *stage) {
		s.script("", slow, slow)
		w, f, record := s.say(streamTurn, "s")
		body := w.Body.String()
		if f != nil || w.Code != 200 || strings.Count(body, "event: ping") < 1 || strings.Count(body, "event: error") != 1 || !strings.Contains(body, "busy") {
			t.Errorf("%+v %d %s", f, w.Code, body)
		}
		if w.Header().Get("X-Shunt-Account") != "" || w.Header().Get("Retry-After") != "" || record.End != observe.Failed || record.Status != 200 || record.Error == "" {
			t.Errorf("%v %+v", w.Header(), record)
		}
	})
}

// FAM-8: with commit_after_seconds = 0, the client's own dialect is committed at once, too, and the next account continues.
func TestCommittedNative(t *testing.T) {
	inStage(t, func(s *stage) {
		first := s.home("s")
		streaming := strings.Replace(turn, `{"model"`, `{"stream":true,"model"`, 1)
		s.script(first, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(40 * time.Second)
			respond(429, `{"error":{"type":"usage_limit_reached","message":"used up","resets_in_seconds":3600}}`)(w, r)
		})
		for _, name := range []string{"a", "b", "c"} {
			if name != first {
				s.script(name, spoken)
			}
		}
		times := upstream.Times{KeepAlive: 15 * time.Second, CommitNative: true}
		w, f, record := s.sendBody(s.dialect(), streaming, times, s.pool, "s")
		body := w.Body.String()
		if f != nil || !strings.HasPrefix(body, "event: ping\n") || !strings.Contains(body, `"delta":"hello"`) || record.Account == first {
			t.Errorf("%+v %s", f, body)
		}
		s.script("", respond(429, `{"error":{"type":"usage_limit_reached","message":"used up","resets_in_seconds":3600}}`))
		w, f, _ = s.sendBody(s.dialect(), streaming, times, s.pool, "s")
		if body := w.Body.String(); f != nil || !strings.HasPrefix(body, "event: response.failed\n") || !strings.Contains(body, "back in") {
			t.Errorf("%+v %s", f, body)
		}
	})
}

// DIA-5: what cannot be translated is rejected before any request, and a chain goes on to an upstream that can have it.
func TestUntranslatable(t *testing.T) {
	inStage(t, func(s *stage) {
		const byID = `{"model":"claude-x","max_tokens":100,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`
		_, f, record := s.say(byID, "s")
		if f == nil || f.Status != 400 || !strings.Contains(f.Message, "messages[0].content[0]") || s.count() != 0 || record.Attempts != 0 {
			t.Errorf("%+v after %d requests", f, s.count())
		}
	})
}

// RSP-3, RSP-3b: reasoning returns to the account that wrote it, in either dialect, and to no other.
func TestReasoningReturns(t *testing.T) {
	inStage(t, func(s *stage) {
		const thinking = `"thinking":{"type":"enabled","budget_tokens":2000},`
		ask := strings.Replace(plainTurn, `"messages"`, thinking+`"messages"`, 1)
		s.script("", thought("sealed-token"))
		w, f, first := s.say(ask, "s")
		if f != nil {
			t.Fatal(f)
		}
		_, content, _ := strings.Cut(w.Body.String(), `"content":`)
		content = content[:strings.Index(content, `],`)+1]
		again := strings.Replace(ask, `]}`, `,{"role":"assistant","content":`+content+`},{"role":"user","content":"and?"}]}`, 1)
		s.script("", spoken)
		if _, f, record := s.say(again, "s"); f != nil || record.Account != first.Account || record.Dropped.Reasoning != 0 || !strings.Contains(s.last().body, `"encrypted_content":"sealed-token"`) {
			t.Errorf("%+v %+v %s", f, record, s.last().body)
		}
		s.script("", spoken)
		s.script(first.Account, respond(500, ``))
		if _, f, record := s.say(again, "s"); f != nil || record.Account == first.Account || record.Dropped.Reasoning != 1 || strings.Contains(s.last().body, "sealed-token") {
			t.Errorf("%+v %+v %s", f, record, s.last().body)
		}
	})
}

// FAM-4: the operator's headers come last, in either form of a request.
func TestStaticHeaders(t *testing.T) {
	inStage(t, func(s *stage) {
		s.requests.Headers = []family.HeaderField{{Name: "User-Agent", Value: "mine"}, {Name: "X-Extra", Value: "1"}, {Name: "Chatgpt-Account-Id", Value: "other"}}
		s.configure()
		s.script("", spoken)
		s.say(plainTurn, "s", "X-Extra: 2")
		translated := s.last().header
		s.request("s", "X-Extra: 2")
		for _, h := range []http.Header{translated, s.last().header} {
			for _, f := range s.requests.Headers {
				if !slices.Equal(h[f.Name], []string{f.Value}) {
					t.Errorf("%s: %q", f.Name, h[f.Name])
				}
			}
		}
	})
}

// FAM-3, DIA-9: an upstream with a key serves clients of other dialects, too. What it does not report is estimated.
func TestTranslatedSingle(t *testing.T) {
	inStage(t, func(s *stage) {
		at, err := url.Parse("http://127.0.0.1:8002/v1")
		s.Must(err)
		single := func(c upstream.Credential) upstream.Upstream {
			return upstream.NewSingle(upstream.SingleOptions{
				Name: "key", Base: at, Credential: c, Family: &keyed.Responses, Transport: s.transport, Requests: upstream.RequestOptions{Agent: "shunt/v1"},
			})
		}
		key := single(upstream.Bearer(secret.New("token-a")))
		s.script("a", spoken)
		w, f, record := s.sendBody(messages.Dialect{}, streamTurn, inTime, key, "")
		if f != nil || !strings.Contains(w.Body.String(), "message_stop") || s.last().target != "/v1/responses" || record.Tokens.Estimated {
			t.Errorf("%+v %s %+v", f, w.Body, record)
		}
		s.script("a", streamed(`{"type":"response.completed","response":{"id":"resp_1","output":[{"type":"message","content":[{"type":"output_text","text":"hello there"}]}]}}`))
		if _, f, record := s.sendBody(messages.Dialect{}, plainTurn, inTime, key, ""); f != nil || !record.Tokens.Estimated || record.Tokens.Output == 0 || record.Tokens.Input == 0 {
			t.Errorf("%+v %+v", f, record.Tokens)
		}
		for _, c := range []struct {
			reply  http.HandlerFunc
			status int
			said   string
		}{
			{respond(401, `{"error":{"code":"invalid_api_key","message":"wrong key"}}`), 401, "wrong key"},
			{streamed(`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow down"}}}`), 429, "slow down"},
			{streamed(`{"type":"response.created","response":{}}`), 502, dialect.TruncatedMessage},
		} {
			s.script("a", c.reply)
			if _, f, _ := s.sendBody(messages.Dialect{}, streamTurn, inTime, key, ""); f == nil || f.Status != c.status || f.Message != c.said {
				t.Errorf("%+v, want %d %s", f, c.status, c.said)
			}
		}
		s.sendBody(messages.Dialect{}, plainTurn, inTime, single(upstream.Credential{}), "", "Authorization: Bearer token-b")
		if got := s.last(); got.account != "b" {
			t.Errorf("the client's own credential: %v", got.header)
		}
		s.sendBody(messages.Dialect{}, plainTurn, inTime, single(upstream.NoCredential()), "", "Authorization: Bearer token-b")
		if got := s.last(); got.header["Authorization"] != nil {
			t.Errorf("no credential: %v", got.header)
		}
	})
}

// CHN-1: a chain goes from Claude's dialect to another one and back.
func TestChainOfDialects(t *testing.T) {
	inStage(t, func(s *stage) {
		s.script("", respond(429, `{"error":{"type":"usage_limit_reached","message":"used up","resets_in_seconds":3600}}`))
		at, err := url.Parse("http://127.0.0.1:8002/v1")
		s.Must(err)
		key := upstream.NewSingle(upstream.SingleOptions{
			Name: "key", Base: at, Credential: upstream.Bearer(secret.New("token-d")), Family: &keyed.Responses, Transport: s.transport,
		})
		s.script("d", spoken)
		w, f, record := s.sendChain(messages.Dialect{}, streamTurn, inTime, []upstream.Link{
			{Name: simtest.Pool, Upstream: s.pool, Model: "gpt-5.5"}, {Name: "key", Upstream: key, Model: "gpt-5.4"},
		}, "")
		if f != nil || !strings.Contains(w.Body.String(), "message_stop") || record.Provider != "key" || !strings.Contains(s.last().body, `"gpt-5.4"`) {
			t.Errorf("%+v %s %+v", f, w.Body, record)
		}
	})
}
