package chat_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/dialect/chat"
	"shunt/internal/dialect/dialecttest"
)

const (
	usage   = `"usage":{"prompt_tokens":30,"completion_tokens":44,"total_tokens":74,"prompt_tokens_details":{"cached_tokens":10}}`
	counted = `data: {"id":"chatcmpl-1","model":"kimi-k2","choices":[],` + usage + "}\n\n"
)

func TestConformance(t *testing.T) {
	dialecttest.Run(t, dialecttest.Example{
		Inbound: api, Outbound: api,
		Header:  http.Header{"X-Session-Id": {"s-1"}},
		Session: "s-1",
		Body:    `{"model":"kimi-k2","messages":[{"role":"user","content":"hi"}],"stream":true,"prompt_cache_key":"k"}`,
		Model:   "kimi-k2",

		Response: `{"id":"chatcmpl-1","object":"chat.completion","model":"kimi-k2","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],` + usage + `}`,
		Stream:   chunk(`"content":"a"`) + stop("stop") + counted + done,
		Usage:    dialect.Usage{Input: 20, CacheRead: 10, Output: 44, Known: true},

		Continued: chunk(`"content":"a"`),
	})
}

// INB-6: the session is named by the header or by the key of the prompt cache.
func TestSession(t *testing.T) {
	body := []byte(`{"prompt_cache_key":"k\u0031","model":"m"}`)
	r, err := api.Scan(body)
	if err != nil || r.SessionID(body) != "k1" {
		t.Errorf("%q, %v", r.SessionID(body), err)
	}
}

// FAM-7: a first line of data with an error of the upstream's own is a failure. FAM-8: comments are not events.
func TestFirstEvent(t *testing.T) {
	failed := `data: {"error":{"message":"m","type":"rate_limit_error"}}` + "\n\n"
	for _, c := range []struct {
		head  string
		found bool
		kind  dialect.ErrorKind
	}{
		{": wait\n\n", false, 0},
		{chunk(`"role":"assistant"`), true, 0},
		{failed, true, dialect.RateLimit},
		{string(api.Ping()) + ": PROCESSING\n\n" + failed, true, dialect.RateLimit},
		{chunk(`"content":"a"`) + failed, true, 0},
		{`data: {"error":{"message":"m","code":502}}` + "\n\n", true, dialect.ServerError},
		{`data: {"error":{"message":"m","type":"engine_overloaded_error"}}` + "\n\n", true, dialect.Overloaded},
		{`data: {"object":"error","message":"m","code":"429"}` + "\n\n", true, dialect.RateLimit},
		{`data: {"error":{"message":"m","code":"context_length_exceeded"}}` + "\n\n", true, 0},
		{`data: {"error":{"message":"m","code":"engine_exploded"}}` + "\n\n", true, dialect.ServerError},
		{`data: {"error":"m"}` + "\n\n", true, dialect.ServerError},
		{`data: {"error":null,"choices":[]}` + "\n\n", true, 0},
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

// RSP-3b, SEL-31: reasoning in this dialect is text, which is not bound to an account.
func TestReasoningPasses(t *testing.T) {
	body := []byte(`{"model":"m","messages":[{"role":"assistant","content":"a","reasoning_content":"r ` + dialect.EnvelopeMark + `"}]}`)
	if cuts, dropped := api.AppendCuts(nil, body, dialect.Origin{Family: "a"}); len(cuts) > 0 || dropped > 0 || api.CarriesReasoning(body) {
		t.Errorf("%d cuts, %d dropped", len(cuts), dropped)
	}
}

// DIA-6, DIA-7: what a client gets for an error.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		e      dialect.Error
		status int
		body   string
	}{
		{dialect.Error{Kind: dialect.QuotaExhausted, Status: 429, Message: "m"}, 429, `{"error":{"type":"rate_limit_error","code":"rate_limit_exceeded","message":"m"}}`},
		{dialect.Error{Kind: dialect.NoAccount, Status: 503, Message: "m"}, 503, `{"error":{"type":"server_error","code":"server_error","message":"m"}}`},
		{dialect.Error{Kind: dialect.ContextOverflow, Status: 413, Message: "m"}, 400, `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"m"}}`},
		{dialect.Error{Kind: dialect.Overloaded, Status: 529, Message: "m"}, 503, `{"error":{"type":"server_error","code":"server_is_overloaded","message":"m"}}`},
		{dialect.Error{Kind: dialect.Permission, Status: 402, Message: "m"}, 402, `{"error":{"type":"permission_error","code":null,"message":"m"}}`},
		{dialect.Error{Kind: dialect.InvalidRequest, Status: 422, Message: "m"}, 422, `{"error":{"type":"invalid_request_error","code":null,"message":"m"}}`},
	} {
		if status, body := api.Status(&c.e), string(api.AppendError(nil, &c.e, "req")); status != c.status || body != c.body {
			t.Errorf("%+v: %d %s", c.e, status, body)
		}
	}
}

// DIA-6: the errors of vendors, some of which give the status as a code.
func TestParseError(t *testing.T) {
	for body, want := range map[string]*dialect.Error{
		`{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`: {Kind: dialect.ContextOverflow, Code: "context_length_exceeded", Message: "m"},
		`{"error":{"message":"m","code":404}}`:                                       {Kind: dialect.NotFound, Message: "m"},
		`{"error":{"message":"m","code":"402"}}`:                                     {Kind: dialect.Permission, Code: "402", Message: "m"},
		`{"error":{"message":"m","code":413}}`:                                       {Kind: dialect.TooLarge, Message: "m"},
		`{"error":{"message":"m","code":504}}`:                                       {Kind: dialect.Timeout, Message: "m"},
		`{"error":{"message":"m","code":401}}`:                                       {Kind: dialect.Authentication, Message: "m"},
		`{"error":{"message":"m","code":422}}`:                                       {Kind: dialect.InvalidRequest, Message: "m"},
		`{"error":{"message":"m","code":299}}`:                                       {Kind: dialect.UnknownError, Message: "m"},
		`{"error":{"message":"m","type":"exceeded_current_quota_error"}}`:            {Kind: dialect.QuotaExhausted, Code: "exceeded_current_quota_error", Message: "m"},
		`{"object":"error","message":"m","type":"invalid_request_error","code":"3"}`: {Kind: dialect.InvalidRequest, Code: "3", Message: "m"},
		`{"detail":"m"}`: {Kind: dialect.UnknownError, Message: "m"},
		`{"error":{}}`:   nil, `{}`: nil, ``: nil, `[]`: nil,
	} {
		got, ok := api.ParseError([]byte(body))
		if ok != (want != nil) {
			t.Errorf("%s: %+v, %v", body, got, ok)
		} else if want != nil {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%s: %s", body, diff)
			}
		}
	}
}

// FAM-3: vendors list their models in an object, or without one.
func TestParseModels(t *testing.T) {
	for body, want := range map[string][]dialect.Model{
		`{"object":"list","data":[{"id":"a","object":"model"},{"id":"b","name":"B"}]}`: {{ID: "a"}, {ID: "b", DisplayName: "B"}},
		`[{"id":"a"}]`: {{ID: "a"}}, `{"data":[]}`: {}, `{}`: nil, `"a"`: nil,
	} {
		got, err := chat.Dialect{}.ParseModels([]byte(body))
		if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (want == nil) {
			t.Errorf("%s: %v %s", body, err, diff)
		}
	}
}
