package responses_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/dialecttest"
	"shunt/internal/dialect/responses"
	"shunt/internal/wire"
)

var api responses.Dialect

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

const object = `"id":"resp_1","object":"response","model":"gpt-5.5"`

var (
	created   = event("response.created", `{"type":"response.created","sequence_number":0,"response":{`+object+`,"output":[]}}`)
	delta     = event("response.output_text.delta", `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}`)
	usage     = `"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":10},"output_tokens":44}`
	completed = event("response.completed", `{"type":"response.completed","response":{`+object+`,"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],`+usage+`}}`)
)

func TestConformance(t *testing.T) {
	dialecttest.Run(t, dialecttest.Example{
		Inbound: api, Outbound: api,
		Header:  http.Header{"Session-Id": {"s-1"}, "Thread-Id": {"t-1"}},
		Session: "s-1",
		Body:    `{"model":"gpt-5.5","input":[{"type":"message","role":"user","content":"hi"}],"stream":true,"prompt_cache_key":"k"}`,
		Model:   "gpt-5.5",

		Response: `{` + object + `,"status":"completed","output":[],` + usage + `}`,
		Stream:   created + delta + completed,
		Usage:    dialect.Usage{Input: 20, CacheRead: 10, Output: 44, Known: true},

		Continued: created + delta,
	})
}

// INB-6: the session is named by the header or by the key of the prompt cache.
func TestSession(t *testing.T) {
	body := []byte(`{"prompt_cache_key":"k\u0031","model":"m"}`)
	r, err := api.Scan(body)
	if err != nil || r.SessionID(body) != "k1" {
		t.Errorf("%q, %v", r.SessionID(body), err)
	}
	for name, header := range map[string]http.Header{
		"a": {"X-Claude-Code-Session-Id": {"a"}, "Session-Id": {"b"}}, "b": {"Session-Id": {"b"}, "Thread-Id": {"c"}},
		"c": {"Session_id": {"c"}, "Thread-Id": {"d"}}, "d": {"Thread-Id": {"d"}}, "e": {"X-Session-Id": {"e"}}, "": {},
	} {
		if got := api.Session(header); got != name {
			t.Errorf("%v: %q", header, got)
		}
	}
}

// FAM-7: announcements do not hide a failure, up to sixteen of them.
func TestFirstEvent(t *testing.T) {
	failed := event("response.failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"usage_limit_reached","message":"m","resets_at":1800000000}}}`)
	limits := event("codex.rate_limits", `{"type":"codex.rate_limits"}`)
	for _, c := range []struct {
		head  string
		found bool
		kind  dialect.ErrorKind
	}{
		{created, false, 0},
		{": comment\n\n" + created + limits + string(api.Ping()) + failed, true, dialect.QuotaExhausted},
		{created + delta + failed, true, 0},
		{strings.Repeat(limits, 16) + failed, true, dialect.QuotaExhausted},
		{strings.Repeat(limits, 17) + failed, true, 0},
		{event("error", `{"type":"error","code":"rate_limit_exceeded","message":"m"}`), true, dialect.RateLimit},
		{event("error", `{"type":"error","error":{"code":"slow_down","message":"m"}}`), true, dialect.Overloaded},
		{event("", `{"type":"response.failed","response":{"error":{"code":"server_error"}}}`), true, dialect.ServerError},
		{event("error", `{"type":"error","code":"context_length_exceeded","message":"m"}`), true, 0},
	} {
		o, found := api.FirstEvent([]byte(c.head))
		kind := dialect.NoError
		if o.Failure != nil {
			kind = o.Failure.Kind
		}
		if found != c.found || kind != c.kind {
			t.Errorf("%q: %+v, %v", c.head, o, found)
		}
	}
}

// RSP-3b, GPT-10b: what another account cannot read is cut, and the rest stays valid JSON.
func TestCuts(t *testing.T) {
	ours := dialect.Origin{Family: "codex", Identity: "1"}
	reasoning := func(o dialect.Origin) string {
		return `{"type":"reasoning","summary":[],"encrypted_content":"` + dialect.Seal(&dialect.Reasoning{Opaque: "x", Origin: o}) + `"}`
	}
	const message, native = `{"type":"message","role":"user","content":"hi"}`, `{"type":"reasoning","id":"rs","encrypted_content":"gAAA"}`
	foreign := reasoning(dialect.Origin{Family: "claude", Identity: "2"})
	for _, c := range []struct {
		items        []string
		cut, allCuts []string
	}{
		{[]string{message}, []string{message}, []string{message}},
		{[]string{foreign, message}, []string{message}, []string{message}},
		{[]string{message, foreign}, []string{message}, []string{message}},
		{[]string{foreign, foreign, message, foreign, native, message}, []string{message, native, message}, []string{message, message}},
		{[]string{foreign}, nil, nil},
		{[]string{reasoning(ours), message}, []string{reasoning(ours), message}, []string{message}},
	} {
		body := []byte(`{"model":"m","input":[ ` + strings.Join(c.items, " , ") + ` ],"stream":true}`)
		cuts, dropped := api.AppendCuts(nil, body, ours)
		check := func(edits []wire.Edit, want []string) {
			segments, _ := wire.Splice(body, edits...)
			text := ""
			for _, s := range segments {
				text += string(s)
			}
			var got struct{ Input []json.RawMessage }
			if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Input) != len(want) {
				t.Fatalf("%s: %v", text, err)
			}
			for i := range want {
				if string(got.Input[i]) != want[i] {
					t.Errorf("%s, want %s", got.Input[i], want[i])
				}
			}
		}
		check(cuts, c.cut)
		if dropped != len(c.items)-len(c.cut) {
			t.Errorf("%d dropped", dropped)
		}
		check(api.AppendReasoningCuts(nil, body), c.allCuts)
	}
}
