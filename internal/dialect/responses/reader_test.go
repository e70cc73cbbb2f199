package responses_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

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
		case dialect.Cited:
			fmt.Fprintf(&b, "%d cites %s\n", e.Part, e.Source.URL)
		case dialect.PartEnded:
			fmt.Fprintf(&b, "%d ended %s %s\n", e.Part, e.ID, e.Opaque)
		case dialect.Finished:
			fmt.Fprintf(&b, "finished %d %+v\n", e.Stop, e.Usage)
		case dialect.Failed:
			fmt.Fprintf(&b, "failed %d %s %q %v\n", e.Err.Kind, e.Err.Code, e.Err.Message, e.Truncated)
		}
	}
	return b.String()
}

const finished = "finished 0 {Input:0 Output:0 CacheRead:0 CacheCreation:0 Known:false}\n"

// RSP-1, RSP-2: the events of a response, however much of it is in its last events alone.
func TestReader(t *testing.T) {
	e := func(name, members string) string {
		return event("response."+name, `{"type":"response.`+name+`",`+members+`}`)
	}
	end := event("response.completed", `{"type":"response.completed","response":{"status":"completed"}}`)
	for _, c := range []struct{ name, stream, want string }{
		{"a text that arrives whole", e("output_text.done", `"output_index":0,"content_index":0,"text":"t"`) + end, "0 text\n0 \"t\"\n0 ended  \n" + finished},
		{
			"a text and a refusal in one message",
			e("output_text.delta", `"output_index":0,"content_index":0,"delta":"a"`) + e("refusal.done", `"output_index":0,"content_index":1,"refusal":"b"`) +
				e("output_item.done", `"output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]}`) + end,
			"0 text\n0 \"a\"\n1 refusal\n1 \"b\"\n0 ended  \n1 ended  \n" + strings.Replace(finished, "0", "3", 1),
		},
		{
			"a call whose arguments arrive whole",
			e("output_item.added", `"output_index":0,"item":{"type":"function_call","call_id":"c","name":"f"}`) + e("function_call_arguments.done", `"output_index":0,"arguments":"{\"a\":1}"`) +
				e("output_item.done", `"output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}`) + end,
			"0 call c /f false\n0 \"{\\\"a\\\":1}\"\n0 ended  \n" + strings.Replace(finished, "0", "2", 1),
		},
		{
			"a call that only the last event completes",
			e("output_item.added", `"output_index":0,"item":{"type":"function_call","call_id":"c","name":"f"}`) +
				event("response.completed", `{"type":"response.completed","response":{"output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}`),
			"0 call c /f false\n0 \"{}\"\n0 ended  \n" + strings.Replace(finished, "0", "2", 1),
		},
		{
			"a custom call, and a tool that was renamed",
			e("output_item.added", `"output_index":0,"item":{"type":"custom_tool_call","call_id":"c","name":"p"}`) + e("custom_tool_call_input.delta", `"output_index":0,"delta":"x"`) +
				e("output_item.done", `"output_index":1,"item":{"type":"function_call","id":"fc_1","name":"n__f","arguments":""}`) + end,
			"0 call c /p true\n0 \"x\"\n1 call fc_1 n/f false\n1 ended  \n0 ended  \n" + strings.Replace(finished, "0", "2", 1),
		},
		{
			"raw reasoning", e("reasoning_text.delta", `"output_index":0,"content_index":0,"delta":"r"`) + e("output_item.done", `"output_index":0,"item":{"id":"rs","type":"reasoning","encrypted_content":"x"}`) + end,
			"0 reasoning\n0 \"r\"\n0 ended rs x\n" + finished,
		},
		{"reasoning without anything", e("output_item.done", `"output_index":0,"item":{"id":"rs","type":"reasoning","summary":[]}`) + end, finished},
		{
			"unknown events and items", event("codex.rate_limits", `not JSON`) + event("keepalive", `{}`) + e("output_item.done", `"output_index":0,"item":{"type":"image_generation_call"}`) + "data: [DONE]\n\n" + end,
			finished,
		},
		{
			"an unknown reason", event("response.incomplete", `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"new"}}}`),
			strings.Replace(finished, "0", "1", 1),
		},
		{"nothing after the last event", end + delta, finished},
		{"the last blank line is missing", strings.TrimSuffix(end, "\n\n"), finished},
		{"an error without a message", event("response.failed", `{"type":"response.failed","response":{"status":"failed","error":null}}`), "failed 7  \"the upstream reported an error without a message\" false\n"},
		{"an error event", event("error", `{"type":"error","code":"server_is_overloaded","message":"m"}`), "failed 8 server_is_overloaded \"m\" false\n"},
		{"an event that is not JSON", event("response.output_text.delta", `{"delta":"`), "failed 7  \"the upstream sent an event that is not JSON\" false\n"},
		{"the end comes early", delta, "0 text\n0 \"hi\"\nfailed 7  \"" + dialect.TruncatedMessage + "\" true\n"},
		{"nothing", "", "failed 7  \"" + dialect.TruncatedMessage + "\" true\n"},
	} {
		tools := map[string]*dialect.Tool{"n__f": {Name: dialect.ToolName{Namespace: "n", Name: "f"}}}
		r := api.NewReader(&dialect.Encoded{Tools: tools}, true)
		events := r.Read(nil, []byte(c.stream))
		if diff := cmp.Diff(c.want, summary(r.End(events))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// DIA-8: a document that is not a response fails, and one that is an error says so.
func TestDocuments(t *testing.T) {
	truncated := "failed 7  \"" + dialect.TruncatedMessage + "\" true\n"
	for document, want := range map[string]string{
		``: truncated, `{}`: truncated, `{"id":"resp_1","output":[`: truncated, `<html>`: truncated,
		`{"id":"resp_1","output":[]}`: "started resp_1\n" + finished,
		`{"id":"resp_1","status":"failed","output":[],"error":{"code":"slow_down","message":"m"}}`: "failed 8 slow_down \"m\" false\n",
		`{"error":{"type":"invalid_request_error","message":"m"}}`:                                 "failed 1 invalid_request_error \"m\" false\n",
	} {
		r := api.NewReader(&dialect.Encoded{}, false)
		if got := summary(r.End(r.Read(nil, []byte(document)))); got != want {
			t.Errorf("%s: %s", document, got)
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
	chunk := bytes.Repeat([]byte(`\n`), 16<<10)
	before := heap()
	r := api.NewReader(&dialect.Encoded{}, true)
	feed := func(p []byte) (n int) {
		for _, e := range r.Read(nil, p) {
			n += len(e.Text)
		}
		return n
	}
	feed([]byte("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\""))
	for range (wire.MaxEvent - 1024) / len(chunk) {
		feed(chunk)
	}
	if n := feed([]byte("\"}\n\n")); n < wire.MaxEvent/2-64<<10 {
		t.Errorf("%d bytes of text", n)
	}
	feed([]byte(delta))
	if after := heap(); after > before+128<<10 {
		t.Errorf("%d bytes are held", after-before)
	}
	runtime.KeepAlive(r)
}
