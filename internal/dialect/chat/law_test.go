package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

	origin = dialect.Origin{Family: "moonshot", Identity: "1"}
)

// drawTurn returns a turn in normal form of what the dialect can express.
func drawTurn(t *rapid.T) *dialect.Turn {
	turn := &dialect.Turn{Model: "m", OneCall: rapid.Bool().Draw(t, "one call"), MaxTokens: rapid.IntRange(1, 9000).Draw(t, "max")}
	turn.Stream = rapid.Bool().Draw(t, "stream")
	turn.StreamUsage = turn.Stream
	if rapid.Bool().Draw(t, "instructions") {
		turn.Instructions = []dialect.Text{{Text: someText.Draw(t, "instruction")}}
	}
	if rapid.Bool().Draw(t, "sampling") {
		temperature := rapid.Float64Range(0, 2).Draw(t, "temperature")
		turn.Temperature, turn.TopP = &temperature, &temperature
	}
	if n := rapid.IntRange(0, 4).Draw(t, "stops"); n > 0 {
		turn.Stop = rapid.SliceOfN(someText, n, n).Draw(t, "stop")
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "tools") {
		turn.Tools = append(turn.Tools, dialect.Tool{
			Name: dialect.ToolName{Name: fmt.Sprintf("%s_%d", someName.Draw(t, "name"), i)}, Description: someText.Draw(t, "description"),
			Schema: json.RawMessage(`{"type":"object","properties":{}}`), Strict: rapid.Bool().Draw(t, "strict"),
		})
	}
	switch rapid.IntRange(0, 3).Draw(t, "choice") {
	case 1:
		turn.Choice.Mode = dialect.ChooseAny
	case 2:
		turn.Choice.Mode = dialect.ChooseNone
	case 3:
		turn.Choice = dialect.ToolChoice{Mode: dialect.ChooseOne, Name: turn.Tools[0].Name}
	}
	switch rapid.IntRange(0, 2).Draw(t, "format") {
	case 1:
		turn.Format = &dialect.Format{}
	case 2:
		turn.Format = &dialect.Format{Name: "n", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: rapid.Bool().Draw(t, "strict")}
	}
	if level := rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "effort"); level != "" {
		turn.Effort = dialect.Effort{Thinking: dialect.ThinkingOn, Level: level, Show: true}
	}
	calls := 0
	for range rapid.IntRange(1, 4).Draw(t, "rounds") {
		turn.Messages = append(turn.Messages, dialect.Message{Role: dialect.User, Parts: drawContent(t)})
		reply := dialect.Message{Role: dialect.Assistant, Parts: []dialect.Part{&dialect.Reasoning{Text: someText.Draw(t, "reasoning"), Origin: origin}}}
		results := dialect.Message{Role: dialect.User}
		made := rapid.IntRange(0, 3).Draw(t, "calls")
		if made == 0 || rapid.Bool().Draw(t, "text") {
			reply.Parts = append(reply.Parts, dialect.Text{Text: someText.Draw(t, "text")})
		}
		for range made {
			tool := &turn.Tools[rapid.IntRange(0, len(turn.Tools)-1).Draw(t, "tool")]
			call := &dialect.ToolCall{ID: fmt.Sprintf("call_%d", calls), Name: tool.Name, Arguments: `{"a":1}`}
			reply.Parts = append(reply.Parts, call)
			results.Parts = append(results.Parts, &dialect.ToolResult{CallID: call.ID, Parts: []dialect.Part{dialect.Text{Text: someText.Draw(t, "result")}}})
			calls++
		}
		turn.Messages = append(turn.Messages, reply)
		if len(results.Parts) > 0 {
			if rapid.Bool().Draw(t, "next") {
				results.Parts = append(results.Parts, dialect.Text{Text: "next"})
			}
			turn.Messages = append(turn.Messages, results, dialect.Message{Role: dialect.Assistant, Parts: []dialect.Part{dialect.Text{Text: "done"}}})
		}
		if rapid.Bool().Draw(t, "instruction") {
			turn.Messages = append(turn.Messages, dialect.Message{Role: dialect.System, Parts: []dialect.Part{dialect.Text{Text: someText.Draw(t, "instruction")}}})
		}
	}
	return turn
}

func drawContent(t *rapid.T) []dialect.Part {
	parts := []dialect.Part{dialect.Text{Text: someText.Draw(t, "text")}}
	for range rapid.IntRange(0, 2).Draw(t, "attachments") {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			parts = append(parts, &dialect.Image{URL: "https://pictures.example/1.png", Detail: "low"}, dialect.Text{Text: someText.Draw(t, "text")})
		case 1:
			parts = append(parts, &dialect.Image{MediaType: "image/png", Data: someData.Draw(t, "data")})
		case 2:
			parts = append(parts, &dialect.File{Name: "a.pdf", MediaType: "application/pdf", Data: someData.Draw(t, "data")})
		}
	}
	return parts
}

// DIA-1: what the dialect can express of a turn survives the way to an upstream and back.
func TestLawTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTurn(t)
		accepts := dialect.Accepts{ReasoningEffort: true, ReturnsReasoning: true, MaxCompletionTokens: rapid.Bool().Draw(t, "newer name")}
		encoded, err := api.Encode(want, &dialect.Target{Model: "m", Origin: origin, Accepts: accepts})
		if err != nil {
			t.Fatal(err)
		}
		got, err := api.ReadTurn(encoded.Body)
		if err != nil {
			t.Fatalf("%v in %s", err, encoded.Body)
		}
		for i := range got.Messages { // the names of members, for errors, are those of this body, and the origin is not in it
			for _, part := range got.Messages[i].Parts {
				switch p := part.(type) {
				case *dialect.Image:
					p.Member = ""
				case *dialect.File:
					p.Member = ""
				case *dialect.Reasoning:
					p.Origin = origin
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s", encoded.Body, diff)
		}
	})
}

// drawEvents returns the events of a response of what the dialect can express: one text, one refusal, one piece of reasoning, and
// calls, all of which may be interleaved.
func drawEvents(t *rapid.T) []dialect.Event {
	type part struct {
		number int
		kind   dialect.PartType
		pieces []string
	}
	events := []dialect.Event{{Kind: dialect.Started, ID: "chatcmpl-1"}}
	var open []*part
	stop := dialect.EndTurn
	kinds := rapid.SliceOfN(rapid.SampledFrom([]dialect.PartType{dialect.TextPart, dialect.RefusalPart, dialect.ReasoningPart, dialect.CallPart}), 0, 6).Draw(t, "types")
	for i := 0; i < len(kinds) || len(open) > 0; {
		if i < len(kinds) && (len(open) == 0 || rapid.Bool().Draw(t, "start")) {
			kind := kinds[i]
			i++
			if kind != dialect.CallPart && slices.Contains(kinds[:i-1], kind) {
				continue
			}
			p := &part{number: 0, kind: kind}
			for _, e := range events {
				if e.Kind == dialect.PartStarted {
					p.number++
				}
			}
			e := dialect.Event{Kind: dialect.PartStarted, Part: p.number, Type: kind}
			switch kind {
			case dialect.CallPart:
				e.Call = &dialect.ToolCall{ID: fmt.Sprintf("call_%d", p.number), Name: dialect.ToolName{Name: "f"}}
				if quoted, _ := json.Marshal(someText.Draw(t, "argument")); rapid.Bool().Draw(t, "arguments") {
					p.pieces = []string{`{"a`, `":`, string(quoted), `,"b":[{}]`, "}"}
				}
				stop = dialect.StopToolUse
			default:
				p.pieces = rapid.SliceOfN(someText, 1, 3).Draw(t, "pieces")
			}
			if kind == dialect.RefusalPart && stop == dialect.EndTurn {
				stop = dialect.StopRefusal
			}
			open, events = append(open, p), append(events, e)
			continue
		}
		n := rapid.IntRange(0, len(open)-1).Draw(t, "part")
		p := open[n]
		if len(p.pieces) == 0 {
			open = slices.Delete(open, n, n+1)
			events = append(events, dialect.Event{Kind: dialect.PartEnded, Part: p.number, Type: p.kind})
			continue
		}
		events = append(events, dialect.Event{Kind: dialect.PartDelta, Part: p.number, Type: p.kind, Text: []byte(p.pieces[0])})
		p.pieces = p.pieces[1:]
	}
	if rapid.Bool().Draw(t, "limit") {
		stop = dialect.StopMaxTokens
	}
	return append(events, dialect.Event{Kind: dialect.Finished, Stop: stop, Usage: dialect.Usage{Input: 7, CacheRead: 2, CacheCreation: 1, Output: 3, Known: true}})
}

// contents returns what a response contains: its texts, its calls in the order in which they started, and its end.
func contents(events []dialect.Event) string {
	var texts [dialect.SearchPart]string
	calls := map[int]string{}
	var order []int
	end := ""
	for _, e := range events {
		switch e.Kind {
		case dialect.PartStarted:
			if e.Call != nil {
				order = append(order, e.Part)
				calls[e.Part] = fmt.Sprintf("%+v ", *e.Call)
			}
		case dialect.PartDelta:
			if e.Type == dialect.CallPart {
				calls[e.Part] += string(e.Text)
			} else {
				texts[e.Type] += string(e.Text)
			}
		case dialect.PartEnded:
			if strings.HasSuffix(calls[e.Part], " ") {
				calls[e.Part] += "{}"
			}
		case dialect.Finished:
			end = fmt.Sprintf("stop %d %+v", e.Stop, e.Usage)
		}
	}
	lines := []string{fmt.Sprintf("%q", texts)}
	for _, part := range order {
		lines = append(lines, calls[part])
	}
	return strings.Join(append(lines, end), "\n")
}

// DIA-1, INB-3, CHT-1: what a client gets for the events of a response contains all of it, as a stream in any division and as a
// document.
func TestLawEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		for _, stream := range []bool{true, false} {
			turn := &dialect.Turn{Model: "m", Stream: stream, StreamUsage: true, Effort: dialect.Effort{Show: true}}
			w := api.NewWriter(dialect.ResponseOptions{Turn: turn})
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
			if diff := cmp.Diff(contents(events), contents(r.End(got))); diff != "" {
				t.Fatalf("stream %v: %s: %s", stream, out, diff)
			}
		}
	})
}
