package messages_test

import (
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
)

// DIA-2: a body of 100 kB is decoded and encoded in less than a millisecond.
func BenchmarkTranslateRequest(b *testing.B) {
	body := codingTurn(100_000)
	var blocks int
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		turn, err := messages.Dialect{}.ReadTurn(body)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (messages.Dialect{}).Encode(turn, &dialect.Target{Model: "m"}); err != nil {
			b.Fatal(err)
		}
		blocks = len(turn.Tools) + len(turn.Instructions)
		for _, m := range turn.Messages {
			blocks += len(m.Parts)
		}
	}
	b.ReportMetric(float64(blocks), "blocks")
}

// DIA-2: an event of a stream is translated in less than three microseconds.
func BenchmarkTranslateEvent(b *testing.B) {
	const delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" a few \\\"words\\\"\"}}\n\n"
	r := api.NewReader(&dialect.Encoded{}, true)
	w := api.NewWriter(dialect.ResponseOptions{Turn: &dialect.Turn{Model: "m", Stream: true}})
	var events []dialect.Event
	var out []byte
	feed := func(p []byte) {
		events = r.Read(events[:0], p)
		out = out[:0]
		for i := range events {
			out = w.Write(out, &events[i])
		}
	}
	feed([]byte(messageStart + "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"))
	chunk := []byte(delta)
	b.ReportAllocs()
	for b.Loop() {
		if feed(chunk); len(out) == 0 {
			b.Fatal("nothing is written")
		}
	}
}
