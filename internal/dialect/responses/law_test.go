package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"shunt/internal/dialect"
	"shunt/internal/wire/wiretest"
)

var (
	someText = rapid.StringN(1, 12, 40)
	someName = rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9_-]{0,11}`)
	someData = rapid.StringMatching(`[A-Za-z0-9+/]{1,12}`)
)

// drawTurn returns a turn in normal form of what the dialect can express.
func drawTurn(t *rapid.T) *dialect.Turn {
	turn := &dialect.Turn{Model: "m", Stream: true, OneCall: rapid.Bool().Draw(t, "one call"), CacheKey: "k", MaxTokens: rapid.IntRange(16, 9000).Draw(t, "max")}
	if rapid.Bool().Draw(t, "instructions") {
		turn.Instructions = []dialect.Text{{Text: someText.Draw(t, "instruction")}}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "tools") {
		turn.Tools = append(turn.Tools, drawTool(t, i))
	}
	switch rapid.IntRange(0, 3).Draw(t, "choice") {
	case 1:
		turn.Choice.Mode = dialect.ChooseAny
	case 2:
		turn.Choice.Mode = dialect.ChooseNone
	case 3:
		turn.Choice = dialect.ToolChoice{Mode: dialect.ChooseOne, Name: turn.Tools[0].Name}
	}
	if rapid.Bool().Draw(t, "format") {
		turn.Format = &dialect.Format{Name: "n", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: rapid.Bool().Draw(t, "strict")}
	}
	if level := rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "effort"); level != "" {
		turn.Effort = dialect.Effort{Thinking: dialect.ThinkingOn, Level: level, Show: true}
	}
	calls := 0
	for range rapid.IntRange(1, 4).Draw(t, "rounds") {
		turn.Messages = append(turn.Messages, dialect.Message{Role: dialect.User, Parts: drawContent(t)})
		reply := dialect.Message{Role: dialect.Assistant, Parts: []dialect.Part{dialect.Text{Text: someText.Draw(t, "text"), Refusal: rapid.Bool().Draw(t, "refusal")}}}
		results := dialect.Message{Role: dialect.User}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			tool := &turn.Tools[rapid.IntRange(0, len(turn.Tools)-1).Draw(t, "tool")]
			call := &dialect.ToolCall{ID: fmt.Sprintf("call_%d", calls), Name: tool.Name, Arguments: `{"a":1}`}
			if call.Custom = tool.Kind == dialect.CustomTool; call.Custom {
				call.Arguments = someText.Draw(t, "input")
			}
			reply.Parts = append(reply.Parts, call)
			results.Parts = append(results.Parts, &dialect.ToolResult{CallID: call.ID, Custom: call.Custom, Parts: []dialect.Part{dialect.Text{Text: someText.Draw(t, "result")}}})
			calls++
		}
		turn.Messages = append(turn.Messages, reply)
		if len(results.Parts) > 0 {
			results.Parts = append(results.Parts, dialect.Text{Text: "next"})
			turn.Messages = append(turn.Messages, results, dialect.Message{Role: dialect.Assistant, Parts: []dialect.Part{dialect.Text{Text: "done"}}})
		}
	}
	return turn
}

func drawTool(t *rapid.T, i int) dialect.Tool {
	tool := dialect.Tool{Name: dialect.ToolName{Name: fmt.Sprintf("%s_%d", someName.Draw(t, "name"), i)}, Description: someText.Draw(t, "description")}
	if rapid.Bool().Draw(t, "custom") {
		tool.Kind, tool.Grammar = dialect.CustomTool, json.RawMessage(`{"type":"text"}`)
		return tool
	}
	tool.Schema, tool.Strict = json.RawMessage(`{"type":"object","properties":{}}`), rapid.Bool().Draw(t, "strict")
	return tool
}

func drawContent(t *rapid.T) []dialect.Part {
	parts := []dialect.Part{dialect.Text{Text: someText.Draw(t, "text")}}
	for range rapid.IntRange(0, 2).Draw(t, "attachments") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			parts = append(parts, &dialect.Image{URL: "https://pictures.example/1.png", Detail: "low"})
		case 1:
			parts = append(parts, &dialect.Image{MediaType: "image/png", Data: someData.Draw(t, "data")})
		case 2:
			parts = append(parts, &dialect.File{URL: "https://documents.example/b.pdf"})
		case 3:
			parts = append(parts, &dialect.File{Name: "a.pdf", MediaType: "application/pdf", Data: someData.Draw(t, "data")})
		}
	}
	return parts
}

// DIA-1: what the dialect can express of a turn survives the way to an upstream and back.
func TestLawTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTurn(t)
		encoded, err := api.Encode(want, &dialect.Target{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := api.ReadTurn(encoded.Body)
		if err != nil {
			t.Fatalf("%v in %s", err, encoded.Body)
		}
		for i := range got.Messages { // the names of members, for errors, are those of this body
			for _, part := range got.Messages[i].Parts {
				switch p := part.(type) {
				case *dialect.Image:
					p.Member = ""
				case *dialect.File:
					p.Member = ""
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s", encoded.Body, diff)
		}
	})
}

// drawEvents returns the events of a response, whose parts may be interleaved, except for texts.
func drawEvents(t *rapid.T) []dialect.Event {
	events := []dialect.Event{{Kind: dialect.Started, ID: "resp_1"}}
	var open []int
	var types []dialect.PartType
	stop := dialect.EndTurn
	end := func(i int) {
		part := open[i]
		e := dialect.Event{Kind: dialect.PartEnded, Part: part, Type: types[part]}
		switch e.Type {
		case dialect.ReasoningPart:
			e.ID, e.Opaque = fmt.Sprintf("rs_1_%d", part), "x"
		case dialect.SearchPart:
			e.ID = fmt.Sprintf("ws_1_%d", part)
			e.Search = &dialect.WebSearch{ID: e.ID, Query: someText.Draw(t, "query")}
		}
		events = append(events, e)
		open = append(open[:i], open[i+1:]...)
	}
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		if len(open) > 0 && rapid.Bool().Draw(t, "continue") {
			i := rapid.IntRange(0, len(open)-1).Draw(t, "part")
			if part := open[i]; types[part] == dialect.SearchPart || rapid.Bool().Draw(t, "end") {
				end(i)
			} else {
				events = append(events, dialect.Event{Kind: dialect.PartDelta, Part: part, Type: types[part], Text: []byte(someText.Draw(t, "delta"))})
			}
			continue
		}
		part := len(types)
		kind := rapid.SampledFrom([]dialect.PartType{dialect.TextPart, dialect.RefusalPart, dialect.ReasoningPart, dialect.CallPart, dialect.SearchPart}).Draw(t, "type")
		e := dialect.Event{Kind: dialect.PartStarted, Part: part, Type: kind}
		if kind == dialect.CallPart {
			e.Call = &dialect.ToolCall{ID: fmt.Sprintf("call_%d", part), Name: dialect.ToolName{Name: "f"}, Custom: rapid.Bool().Draw(t, "custom")}
		}
		types, open = append(types, kind), append(open, part)
		events = append(events, e)
		switch {
		case kind == dialect.CallPart:
			stop = dialect.StopToolUse
		case kind == dialect.RefusalPart && stop == dialect.EndTurn:
			stop = dialect.StopRefusal
		}
		if kind == dialect.RefusalPart { // an empty one refuses nothing
			events = append(events, dialect.Event{Kind: dialect.PartDelta, Part: part, Type: kind, Text: []byte("no")})
		}
	}
	for len(open) > 0 {
		end(0)
	}
	return append(events, dialect.Event{Kind: dialect.Finished, Stop: stop, Usage: dialect.Usage{Input: 7, CacheRead: 2, CacheCreation: 1, Output: 3, Known: true}})
}

// contents returns what the parts of a response are in the end, part by part in the order in which their items started.
func contents(events []dialect.Event, sealed bool) string {
	var parts []string
	text := map[int]string{}
	types := map[int]string{}
	for _, e := range events {
		switch e.Kind {
		case dialect.PartStarted:
			types[e.Part] = fmt.Sprint(e.Type)
			if e.Call != nil {
				types[e.Part] += fmt.Sprintf(" %+v", *e.Call)
			}
		case dialect.PartDelta:
			text[e.Part] += string(e.Text)
		case dialect.PartEnded:
			token := e.Opaque
			if r, ok := dialect.Open(token); ok && sealed {
				token = r.Opaque
			}
			if e.Search != nil {
				token = e.Search.Query
			}
			body := text[e.Part]
			if body == "" && e.Type == dialect.CallPart && !strings.Contains(types[e.Part], "Custom:true") {
				body = "{}"
			}
			if body != "" || e.Type != dialect.TextPart && e.Type != dialect.RefusalPart { // an empty text is none
				parts = append(parts, fmt.Sprintf("%s %q %q", types[e.Part], body, token))
			}
		case dialect.Finished:
			parts = append(parts, fmt.Sprintf("stop %d %+v", e.Stop, e.Usage))
		}
	}
	return strings.Join(parts, "\n")
}

// DIA-1, INB-2: what a client gets for the events of a response contains all of it, as a stream in any division and as a document.
func TestLawEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		for _, stream := range []bool{true, false} {
			w := api.NewWriter(dialect.ResponseOptions{Turn: &dialect.Turn{Model: "m", Stream: stream, Effort: dialect.Effort{Show: true}}})
			var out []byte
			for i := range events {
				out = w.Write(out, &events[i])
			}
			r := api.NewReader(&dialect.Encoded{}, stream)
			var got []dialect.Event
			for _, chunk := range wiretest.Chunks(out, rapid.Uint64().Draw(t, "cuts")) {
				before := len(got)
				got = r.Read(got, chunk)
				for i := range got[before:] {
					got[before+i].Text = bytes.Clone(got[before+i].Text)
				}
			}
			want := contents(events, false)
			if !stream {
				want = contents(inOrder(events), false)
			}
			if diff := cmp.Diff(want, contents(r.End(got), true)); diff != "" {
				t.Fatalf("stream %v: %s: %s", stream, out, diff)
			}
		}
	})
}

// inOrder returns events with those of each part together, as a document has them.
func inOrder(events []dialect.Event) (sorted []dialect.Event) {
	last := len(events) - 1
	for part := range events {
		for _, e := range events[1:last] {
			if e.Part == part {
				sorted = append(sorted, e)
			}
		}
	}
	return append(sorted, events[last])
}
