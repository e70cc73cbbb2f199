package chat_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/dialect/chat"
	"shunt/internal/wire"
)

var api = chat.Dialect{}

// chunk returns a chunk with a delta.
func chunk(delta string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"kimi-k2","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}` + "\n\n"
}

// calls returns a chunk with pieces of calls.
func calls(entries ...string) string {
	return chunk(`"tool_calls":[` + strings.Join(entries, ",") + `]`)
}

// stop returns the chunk that says why the response ends.
func stop(reason string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"kimi-k2","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n"
}

const done = "data: [DONE]\n\n"

// summary says what events are, in a line each: what started, its text, and how it ended.
func summary(events []dialect.Event) string {
	types := [...]string{"text", "refusal", "reasoning", "call", "search"}
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case dialect.Started:
			fmt.Fprintf(&b, "started %s\n", e.ID)
		case dialect.PartStarted:
			fmt.Fprintf(&b, "%d %s", e.Part, types[e.Type])
			if c := e.Call; c != nil {
				fmt.Fprintf(&b, " %s %s/%s %v", c.ID, c.Name.Namespace, c.Name.Name, c.Custom)
			}
			b.WriteByte('\n')
		case dialect.PartDelta:
			fmt.Fprintf(&b, "%d %q\n", e.Part, e.Text)
		case dialect.PartEnded:
			fmt.Fprintf(&b, "%d ended%s\n", e.Part, e.Opaque)
		case dialect.Finished:
			u := e.Usage
			fmt.Fprintf(&b, "finished %d %d/%d/%d/%d\n", e.Stop, u.Input, u.CacheRead, u.CacheCreation, u.Output)
		case dialect.Failed:
			fmt.Fprintf(&b, "failed %d %s %q %v\n", e.Err.Kind, e.Err.Code, e.Err.Message, e.Truncated)
		}
	}
	return b.String()
}

// finished returns the summary of the last event.
func finished(stop dialect.StopReason, usage ...int) string {
	usage = append(usage, 0, 0, 0, 0)
	return fmt.Sprintf("finished %d %d/%d/%d/%d\n", stop, usage[0], usage[1], usage[2], usage[3])
}

const (
	first     = "started chatcmpl-1\n"
	truncated = "failed 7  \"" + dialect.TruncatedMessage + "\" true\n"
)

// tools are the tools of the request by the names that the upstream knows.
var tools = map[string]*dialect.Tool{
	"n__f":  {Name: dialect.ToolName{Namespace: "n", Name: "f"}},
	"patch": {Kind: dialect.CustomTool, Name: dialect.ToolName{Name: "patch"}},
}

// tooMany is the summary of as many calls as a response may have, without arguments.
var tooMany = func() string {
	all := first
	for i := range 512 {
		all += fmt.Sprintf("%d call call_chatcmpl-1_%d /f false\n", i, i)
	}
	return all
}()

// CHT-1: the events of a stream, in whichever of the ways vendors send it.
func TestReader(t *testing.T) {
	for _, c := range []struct{ name, stream, want string }{
		{
			"a text, and the usage after the reason",
			chunk(`"role":"assistant","content":""`) + chunk(`"content":"a"`) + chunk(`"content":"é\n"`) + stop("stop") + `data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":10}}}` + "\n\n" + done,
			first + "0 text\n0 \"a\"\n0 \"é\\n\"\n0 ended\n" + finished(dialect.EndTurn, 20, 10, 0, 4),
		},
		{
			"reasoning ends where the text begins, and the text where a call does",
			chunk(`"reasoning_content":"r"`) + chunk(`"reasoning_content":null,"content":"a"`) + calls(`{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}`) + calls(`{"index":0,"function":{"arguments":"{}"}}`) + stop("tool_calls") + done,
			first + "0 reasoning\n0 \"r\"\n0 ended\n1 text\n1 \"a\"\n1 ended\n2 call c /f false\n2 \"{}\"\n2 ended\n" + finished(dialect.StopToolUse),
		},
		{
			"reasoning under both names", chunk(`"reasoning":"r","reasoning_content":"r"`) + chunk(`"reasoning_content":"","reasoning":"s"`) + stop("stop") + done,
			first + "0 reasoning\n0 \"r\"\n0 \"s\"\n0 ended\n" + finished(dialect.EndTurn),
		},
		{
			"content in parts", chunk(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"},{"type":"reference"},1]`) + stop("stop") + done,
			first + "0 reasoning\n0 \"r\"\n0 ended\n1 text\n1 \"a\"\n1 ended\n" + finished(dialect.EndTurn),
		},
		{
			"interleaved calls",
			calls(`{"index":0,"id":"c","function":{"name":"f"}}`, `{"index":1,"id":"d","function":{"name":"g","arguments":"{"}}`) + calls(`{"index":0,"function":{"arguments":"{\"a\""}}`) + calls(`{"index":1,"function":{"arguments":"}"}}`, `{"index":0,"function":{"arguments":":1}"}}`) + stop("tool_calls") + done,
			first + "0 call c /f false\n1 call d /g false\n1 \"{\"\n0 \"{\\\"a\\\"\"\n1 \"}\"\n0 \":1}\"\n0 ended\n1 ended\n" + finished(dialect.StopToolUse),
		},
		{
			"whole calls in one chunk, all with the same index, and stop as the reason",
			calls(`{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":\"}\"}"}}`) + calls(`{"index":0,"id":"d","function":{"name":"f","arguments":"{}"}}`) + stop("stop") + done,
			first + "0 call c /f false\n0 \"{\\\"a\\\":\\\"}\\\"}\"\n0 ended\n1 call d /f false\n1 \"{}\"\n1 ended\n" + finished(dialect.StopToolUse),
		},
		{
			"calls without an index, and arguments that are an object",
			calls(`{"id":"c","function":{"name":"f","arguments":"{\""}}`) + calls(`{"function":{"arguments":"\":1}"}}`, `{"function":{"name":"n__f","arguments":{"b": 2}}}`) + calls(`{"id":"e","function":{"name":"g"}}`) + stop("tool_calls") + done,
			first + "0 call c /f false\n0 \"{\\\"\"\n0 \"\\\":1}\"\n0 ended\n1 call call_chatcmpl-1_1 n/f false\n1 \"{\\\"b\\\":2}\"\n1 ended\n2 call e /g false\n2 ended\n" + finished(dialect.StopToolUse),
		},
		{
			"the ID and the name in every piece", calls(`{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}`) + calls(`{"index":0,"id":"c","function":{"name":"f","arguments":"}"}}`) + stop("tool_calls") + done,
			first + "0 call c /f false\n0 \"{\"\n0 \"}\"\n0 ended\n" + finished(dialect.StopToolUse),
		},
		{
			"the name after the arguments, and a call that never has one", calls(`{"index":0,"id":"c","function":{"arguments":"{}"}}`, `{"index":1,"function":{"arguments":"{}"}}`) + calls(`{"index":0,"function":{"name":"f"}}`) + stop("tool_calls") + done,
			first + "0 call c /f false\n0 \"{}\"\n0 ended\n" + finished(dialect.StopToolUse),
		},
		{
			"a custom tool", calls(`{"index":0,"id":"c","function":{"name":"patch","arguments":"{\"inp"}}`) + calls(`{"index":0,"function":{"arguments":"ut\":\"x\\n"}}`) + calls(`{"index":0,"function":{"arguments":"y\"}"}}`) + stop("tool_calls") + done,
			first + "0 call c /patch true\n0 \"x\\n\"\n0 \"y\"\n0 ended\n" + finished(dialect.StopToolUse),
		},
		{"a truncated call must not run", calls(`{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}`) + stop("length") + done, first + "0 call c /f false\n0 \"{\"\n0 ended\n" + finished(dialect.StopMaxTokens)},
		{"a refusal", chunk(`"content":null,"refusal":"no"`) + stop("stop") + done, first + "0 refusal\n0 \"no\"\n0 ended\n" + finished(dialect.StopRefusal)},
		{"a content filter", chunk(`"content":"a"`) + stop("content_filter") + done, first + "0 text\n0 \"a\"\n0 ended\n" + finished(dialect.StopRefusal)},
		{"the end without a reason", chunk(`"content":"a"`) + done, first + "0 text\n0 \"a\"\n0 ended\n" + finished(dialect.EndTurn)},
		{"a reason without the end", chunk(`"content":"a"`) + strings.TrimSuffix(stop("stop"), "\n\n"), first + "0 text\n0 \"a\"\n0 ended\n" + finished(dialect.EndTurn)},
		{"DIA-8: neither", chunk(`"content":"a"`), first + "0 text\n0 \"a\"\n" + truncated},
		{"nothing", "", truncated},
		{
			"the usage in the choice", `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":1,"cached_tokens":2}}]}` + "\n\n" + done,
			first + "0 text\n0 \"a\"\n0 ended\n" + finished(dialect.EndTurn, 3, 2, 0, 1),
		},
		{"other choices", `data: {"id":"chatcmpl-1","choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n" + done, first + "0 text\n0 \"a\"\n0 ended\n" + finished(dialect.EndTurn)},
		{"a message instead of deltas", `data: {"id":"chatcmpl-1","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n" + done, first + "0 text\n0 \"a\"\n0 ended\n" + finished(dialect.EndTurn)},
		{"comments and unknown events", ": wait\n\ndata: {\"object\":\"ping\"}\n\n" + stop("stop") + done, first + finished(dialect.EndTurn)},
		{"nothing after the end", stop("stop") + done + chunk(`"content":"a"`), first + finished(dialect.EndTurn)},
		{"an error in the middle", chunk(`"content":"a"`) + `data: {"error":{"message":"m","type":"server_error","code":null}}` + "\n\n" + done, first + "0 text\n0 \"a\"\nfailed 7 server_error \"m\" false\n"},
		{"an error with a status", `data: {"error":{"message":"m","code":429},"choices":[]}` + "\n\n", "failed 6  \"m\" false\n"},
		{"an error that is a text", `data: {"error":"m"}` + "\n\n", "failed 10 m \"m\" false\n"},
		{"an error event", "event: error\ndata: {\"message\":\"m\"}\n\n", "failed 10  \"m\" false\n"},
		{"an error object", `data: {"object":"error","message":"m","code":"503"}` + "\n\n", "failed 8 503 \"m\" false\n"},
		{"an error without a message", `data: {"error":{}}` + "\n\n", "failed 10  \"the upstream reported an error without a message\" false\n"},
		{"an error as the reason", chunk(`"content":"a"`) + stop("error") + done, first + "0 text\n0 \"a\"\nfailed 7  \"the upstream interrupted its response\" false\n"},
		{"an event that is not JSON", `data: {"choices":[` + "\n\n", "failed 7  \"the upstream sent an event that is not JSON\" false\n"},
		{
			"a chunk without choices", `data: {"id":"","choices":[],"prompt_filter_results":[]}` + "\n\n" + chunk(`"content":"a"`) + done,
			first + "0 text\n0 \"a\"\n0 ended\n" + finished(dialect.EndTurn),
		},
		{"too many calls", calls(strings.Split(strings.Repeat(`{"function":{"name":"f"}};`, 513)+"{}", ";")...) + done, tooMany + "failed 7  \"the response has more than 512 calls\" false\n"},
		{"arguments without a name", strings.Repeat(calls(`{"index":0,"function":{"arguments":"`+strings.Repeat("a", 40<<10)+`"}}`), 2), first + "failed 7  \"the upstream sent arguments without the name of their tool\" false\n"},
	} {
		r := api.NewReader(&dialect.Encoded{Tools: tools}, true)
		events := r.Read(nil, []byte(c.stream))
		if diff := cmp.Diff(c.want, summary(r.End(events))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// CHT-1: a document is read as a stream of one chunk. DIA-8: one that is not a response fails, and one that is an error says so.
func TestDocuments(t *testing.T) {
	for document, want := range map[string]string{
		``: truncated, `{}`: truncated, `{"id":"chatcmpl-1","choices":[`: truncated, `<html>`: truncated, `{"choices":{}}`: truncated,
		`{"id":"chatcmpl-1","choices":[]}`: first + finished(dialect.EndTurn),
		`{"id":"chatcmpl-1","choices":[{"message":{"role":"assistant","content":"a","refusal":null,"reasoning_content":"r","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":6,"completion_tokens_details":{"reasoning_tokens":1}}}`: first +
			"0 reasoning\n0 \"r\"\n0 ended\n1 text\n1 \"a\"\n1 ended\n2 call c /f false\n2 \"{}\"\n2 ended\n" + finished(dialect.StopToolUse, 3, 0, 0, 3),
		`{"error":{"type":"invalid_request_error","message":"m"}}`:          "failed 1 invalid_request_error \"m\" false\n",
		`{"object":"error","message":"m","type":"engine_overloaded_error"}`: "failed 8 engine_overloaded_error \"m\" false\n",
		`{"detail":"m"}`: "failed 10  \"m\" false\n",
	} {
		r := api.NewReader(&dialect.Encoded{}, false)
		if diff := cmp.Diff(want, summary(r.End(r.Read(nil, []byte(document))))); diff != "" {
			t.Errorf("%s: %s", document, diff)
		}
	}
	r := api.NewReader(&dialect.Encoded{}, false)
	var events []dialect.Event
	for range 17 {
		events = r.Read(events, bytes.Repeat([]byte(" "), 1<<20))
	}
	if got := summary(r.End(events)); got != "failed 7  \"the response is longer than 16 MiB\" false\n" {
		t.Error(got)
	}
}

// DIA-2: a delta of many megabytes is read, and leaves at most 128 KiB behind.
func TestReaderIsBounded(t *testing.T) {
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	piece := bytes.Repeat([]byte(`\n`), 16<<10)
	before := heap()
	r := api.NewReader(&dialect.Encoded{}, true)
	feed := func(p []byte) (n int) {
		for _, e := range r.Read(nil, p) {
			n += len(e.Text)
		}
		return n
	}
	feed([]byte(`data: {"choices":[{"index":0,"delta":{"content":"`))
	for range (wire.MaxEvent - 1024) / len(piece) {
		feed(piece)
	}
	if n := feed([]byte("\"}}]}\n\n")); n < wire.MaxEvent/2-64<<10 {
		t.Errorf("%d bytes of text", n)
	}
	feed([]byte(chunk(`"content":"a"`)))
	if after := heap(); after > before+128<<10 {
		t.Errorf("%d bytes are held", after-before)
	}
	runtime.KeepAlive(r)
}
