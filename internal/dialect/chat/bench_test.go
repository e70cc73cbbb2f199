package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"shunt/internal/dialect"
)

// codingTurn returns a turn of about 100 kB, in blocks as a coding session has them.
func codingTurn() (t *dialect.Turn, blocks int) {
	const prose = "You are an interactive agent that helps with software engineering tasks. Prefer small changes, and explain \"why\". "
	const source = "func (s *Server) handle(w http.ResponseWriter, r *http.Request) {\n\tif r.Method != \"POST\" {\n\t\treturn\n\t}\n}\n"
	t = &dialect.Turn{Model: "m", Stream: true, MaxTokens: 32000, Effort: dialect.Effort{Thinking: dialect.ThinkingOn, Show: true}}
	t.Instructions = []dialect.Text{{Text: strings.Repeat(prose, 200)}}
	for i := range 20 {
		t.Tools = append(t.Tools, dialect.Tool{
			Name: dialect.ToolName{Name: fmt.Sprintf("Tool%d", i)}, Description: strings.Repeat(prose, 5),
			Schema: []byte(`{"type":"object","properties":{"file_path":{"description":"The absolute path","type":"string"},"limit":{"type":"integer"}},"required":["file_path"]}`),
		})
	}
	for i := range 60 {
		id := fmt.Sprintf("toolu_%d", i)
		t.Messages = append(t.Messages,
			dialect.Message{Role: dialect.Assistant, Parts: []dialect.Part{
				dialect.Text{Text: prose}, &dialect.ToolCall{ID: id, Name: dialect.ToolName{Name: "Tool1"}, Arguments: `{"file_path":"/src/server.go","limit":40}`},
			}},
			dialect.Message{Role: dialect.User, Parts: []dialect.Part{&dialect.ToolResult{CallID: id, Parts: []dialect.Part{dialect.Text{Text: strings.Repeat(source, 8)}}}}})
	}
	return t, 21 + 3*60
}

// DIA-2: a turn of 100 kB is encoded in less than a millisecond, with less than four allocations per block.
func BenchmarkEncode(b *testing.B) {
	turn, blocks := codingTurn()
	to := &dialect.Target{Model: "kimi-k2"}
	b.ReportAllocs()
	for b.Loop() {
		e, err := api.Encode(turn, to)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(e.Body)))
	}
	b.ReportMetric(float64(blocks), "blocks")
}

// BenchmarkReadTurn reads the same turn as a client sends it.
func BenchmarkReadTurn(b *testing.B) {
	turn, _ := codingTurn()
	e, err := api.Encode(turn, &dialect.Target{Model: "kimi-k2"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(e.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := api.ReadTurn(e.Body); err != nil {
			b.Fatal(err)
		}
	}
}

// DIA-2: an event of a stream is read in less than three microseconds, and written in less than that.
func BenchmarkEvent(b *testing.B) {
	for name, delta := range map[string]string{
		"text": chunk(`"content":" a few \"words\""`), "call": calls(`{"index":0,"function":{"arguments":" a few words"}}`),
	} {
		b.Run("read "+name, func(b *testing.B) {
			r := api.NewReader(&dialect.Encoded{}, true)
			events := r.Read(nil, []byte(calls(`{"index":0,"id":"c","function":{"name":"f"}}`)+delta))
			piece := []byte(delta)
			b.ReportAllocs()
			for b.Loop() {
				if events = r.Read(events[:0], piece); len(events) != 1 {
					b.Fatal(len(events))
				}
			}
		})
	}
	b.Run("write", func(b *testing.B) {
		w := api.NewWriter(dialect.ResponseOptions{Turn: &dialect.Turn{Model: "m", Stream: true}})
		out := w.Write(nil, &dialect.Event{Kind: dialect.PartStarted})
		e := &dialect.Event{Kind: dialect.PartDelta, Text: []byte(` a few "words"`)}
		b.ReportAllocs()
		for b.Loop() {
			out = w.Write(out[:0], e)
		}
	})
	b.Run("meter", func(b *testing.B) {
		m := api.NewStreamMeter()
		piece := []byte(chunk(`"content":" a few \"words\""`))
		b.ReportAllocs()
		for b.Loop() {
			m.Write(piece)
		}
	})
}
