package responses_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// RTE-3, GPT-11: every literal that names the model of a response is found, in whichever event and letter case.
func TestEventModels(t *testing.T) {
	for data, want := range map[string]int{
		`{"type":"response.created","response":{"model":"gpt","headers":{"OpenAI-Model":"gpt","x-openai-model":["gpt"],"other":"x"}}}`: 3,
		`{"type":"response.metadata","headers":{"openai-model":"gpt"}}`:                                                                1,
		`{"type":"response.completed","response":{"output":[{"model":"x"}],"model":"gpt"}}`:                                            1,
		`{"type":"response.output_text.delta","delta":"\"model\":\"gpt\"","model":"x"}`:                                                0,
		`{"response":{"model":null,"headers":[]},"headers":"gpt"}`:                                                                     0,
		`[1]`: 0,
	} {
		stream := ": hello\n\nevent: e\ndata: " + data + "\n\n"
		first, _ := wire.NextEvent([]byte(stream), 0)
		e, ended := wire.NextEvent([]byte(stream), first.End)
		spans := api.EventModels(nil, &e)
		if !ended || len(spans) != want {
			t.Errorf("%s: %d literals, want %d", data, len(spans), want)
		}
		for _, s := range spans {
			if got := stream[s.Start:s.End]; got != `"gpt"` {
				t.Errorf("%s: %s", data, got)
			}
		}
	}
}

// FAM-7: comments and pings count as announcements.
func TestFirstEventComments(t *testing.T) {
	failed := event("error", `{"type":"error","code":"slow_down","message":"m"}`)
	for n, fails := range map[int]bool{16: true, 17: false} {
		for _, silent := range []string{": comment\n\n", string(api.Ping())} {
			head := strings.Repeat(silent, n) + failed
			if o, found := api.FirstEvent([]byte(head)); !found || (o.Failure != nil) != fails {
				t.Errorf("%d of %q: %+v, %v", n, silent, o, found)
			}
		}
	}
}

// FAM-7: only the failures of the upstream itself, and of its quota, are failures before the response.
func TestFailures(t *testing.T) {
	for code, kind := range map[string]dialect.ErrorKind{
		"usage_limit_reached": dialect.QuotaExhausted, "insufficient_quota": dialect.QuotaExhausted, "usage_not_included": dialect.QuotaExhausted,
		"rate_limit_exceeded": dialect.RateLimit, "server_is_overloaded": dialect.Overloaded, "slow_down": dialect.Overloaded,
		"server_error": dialect.ServerError, "context_length_exceeded": dialect.NoError, "invalid_prompt": dialect.NoError, "": dialect.NoError,
	} {
		for _, e := range []string{
			event("response.failed", `{"type":"response.failed","response":{"error":{"code":"`+code+`","message":"m"}}}`),
			event("error", `{"type":"error","error":{"type":"`+code+`","message":"m"}}`),
			event("error", `{"type":"error","code":"`+code+`","message":"m"}`),
		} {
			o, found := api.FirstEvent([]byte(created + e))
			got := dialect.NoError
			if o.Failure != nil {
				got = o.Failure.Kind
			}
			if !found || got != kind {
				t.Errorf("%s: kind %v, want %v", e, got, kind)
			}
			m := api.NewStreamMeter()
			m.Write([]byte(e))
			if code != "" && m.Failure() != code {
				t.Errorf("%s: the meter says %q", e, m.Failure())
			}
		}
	}
}

// OBS-1: the code of an error is more exact than its type, whichever comes first.
func TestMeterPrefersCode(t *testing.T) {
	for _, members := range []string{`"type":"tokens","code":"rate_limit_exceeded"`, `"code":"rate_limit_exceeded","type":"tokens"`} {
		m := api.NewStreamMeter()
		m.Write([]byte(event("error", `{"type":"error","error":{`+members+`}}`)))
		if m.Failure() != "rate_limit_exceeded" {
			t.Errorf("%s: %q", members, m.Failure())
		}
	}
}

// DIA-6, GPT-7: the errors of the API and of ChatGPT are read with what they say about the reset.
func TestParseError(t *testing.T) {
	for body, want := range map[string]*dialect.Error{
		`{"error":{"type":"usage_limit_reached","message":"m","resets_at":1800000000,"resets_in_seconds":90}}`: {
			Kind: dialect.QuotaExhausted, Code: "usage_limit_reached", Message: "m", Resets: time.Unix(1_800_000_000, 0), RetryAfter: 90 * time.Second,
		},
		`{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"m","param":null}}`: {Kind: dialect.QuotaExhausted, Code: "insufficient_quota", Message: "m"},
		`{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"m"}}`:      {Kind: dialect.ContextOverflow, Code: "context_length_exceeded", Message: "m"},
		`{"error":{"type":"invalid_request_error","code":null,"message":"m"}}`:                           {Kind: dialect.InvalidRequest, Code: "invalid_request_error", Message: "m"},
		`{"error":{"code":429,"message":"m"}}`:                                                           {Kind: dialect.UnknownError, Message: "m"},
		`{"error":{"message":"m","resets_at":"x"}}`:                                                      {Kind: dialect.UnknownError, Message: "m"},
		`{"error":"slow_down"}`:                               {Kind: dialect.Overloaded, Code: "slow_down", Message: "slow_down"},
		`{"detail":"Unsupported model"}`:                      {Kind: dialect.UnknownError, Message: "Unsupported model"},
		`{"detail":{"code":"deactivated_workspace"}}`:         {Kind: dialect.UnknownError, Code: "deactivated_workspace"},
		`{"message":"m"}`:                                     {Kind: dialect.UnknownError, Message: "m"},
		`{"error":{"type":"slow_down","message":"m"},"cut":"`: {Kind: dialect.Overloaded, Code: "slow_down", Message: "m"},
		`{"error":{}}`:                                        nil, `{"detail":[]}`: nil, `{}`: nil, `[]`: nil, ``: nil, `<html>`: nil, `{"error":null,"output":[]}`: nil,
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

// DIA-6, GPT-12: what a client gets for an error.
func TestErrors(t *testing.T) {
	reset := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		e      dialect.Error
		status int
		body   string
	}{
		{dialect.Error{Kind: dialect.QuotaExhausted, Status: 429, Message: "m", Resets: reset, RetryAfter: 1500 * time.Millisecond}, 429, `{"error":{"type":"usage_limit_reached","code":"usage_limit_reached","message":"m","resets_at":1800000000,"resets_in_seconds":2}}`},
		{dialect.Error{Kind: dialect.QuotaExhausted, Status: 503, Message: "m"}, 429, `{"error":{"type":"usage_limit_reached","code":"usage_limit_reached","message":"m"}}`},
		{dialect.Error{Kind: dialect.NoAccount, Status: 503, Message: "m"}, 400, `{"error":{"type":"invalid_request_error","code":null,"message":"m"}}`},
		{dialect.Error{Kind: dialect.ContextOverflow, Status: 413, Message: "m"}, 400, `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"m"}}`},
		{dialect.Error{Kind: dialect.Overloaded, Status: 529, Message: "m"}, 503, `{"error":{"type":"server_error","code":"server_is_overloaded","message":"m"}}`},
		{dialect.Error{Kind: dialect.Permission, Status: 402, Message: "m"}, 402, `{"error":{"type":"permission_error","code":null,"message":"m"}}`},
		{dialect.Error{Kind: dialect.NotFound, Status: 404, Code: "model_not_found", Message: "m"}, 404, `{"error":{"type":"not_found_error","code":"model_not_found","message":"m"}}`},
	} {
		if got := api.Status(&c.e); got != c.status {
			t.Errorf("%+v: status %d", c.e, got)
		}
		if got := string(api.AppendError(nil, &c.e, "req_1")); got != c.body {
			t.Errorf("%s, want %s", got, c.body)
		}
		e, _ := wire.NextEvent(api.AppendErrorEvent(nil, &c.e), 0)
		if e.Name != "response.failed" || !json.Valid(e.Data) {
			t.Errorf("%s: %s", e.Name, e.Data)
		}
	}
}

// GPT-10: the lists of both providers are read, and an error is not a list.
func TestParseModels(t *testing.T) {
	for body, want := range map[string][]dialect.Model{
		`{"object":"list","data":[{"id":"gpt"}]}`:                {{ID: "gpt"}},
		`{"models":[{"slug":"gpt-5.5","display_name":"GPT 5"}]}`: {{ID: "gpt-5.5", DisplayName: "GPT 5"}},
		`{"data":[]}`: {}, `{"detail":"no"}`: nil, `[]`: nil,
	} {
		got, err := api.ParseModels([]byte(body))
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %v %s", body, err, diff)
		}
	}
}

// GPT-10b: each piece of reasoning is one change, so that the pieces can be counted.
func TestCutsOnePerPiece(t *testing.T) {
	const r, m = `{"type":"reasoning"}`, `{"type":"message"}`
	for input, want := range map[string]int{
		r: 1, r + "," + r: 2, r + "," + r + "," + m + "," + r + "," + r: 4, m: 0, "": 0,
	} {
		body := []byte(`{"input":[` + input + `]}`)
		edits := api.AppendReasoningCuts(nil, body)
		segments, _ := wire.Splice(body, edits...)
		if cut := bytes.Join(segments, nil); len(edits) != want || !json.Valid(cut) || bytes.Contains(cut, []byte("reasoning")) {
			t.Errorf("[%s]: %d edits give %s", input, len(edits), cut)
		}
	}
}

// DIA-9: the parts of the input add up to what the response reports, and never to more.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]dialect.Usage{
		`{"input_tokens":30,"input_tokens_details":{"cached_tokens":10,"cache_write_tokens":5},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":3}}`: {Input: 15, CacheRead: 10, CacheCreation: 5, Output: 4, Known: true},
		`{"input_tokens_details":{"cached_tokens":40,"cache_write_tokens":50},"input_tokens":30,"output_tokens":4}`:                                               {CacheRead: 30, Output: 4, Known: true},
		`{"input_tokens":30,"input_tokens_details":null}`: {Input: 30, Known: true},
		`{"input_tokens":-1,"output_tokens":1.5}`:         {},
	} {
		m := api.NewMeter()
		m.Write([]byte(`{"usage":` + usage + `}`))
		if got := m.Usage(); got != want {
			t.Errorf("%s: %+v, want %+v", usage, got, want)
		}
	}
}
