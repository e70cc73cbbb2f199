package tokens_test

import (
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/tokens"
)

// DIA-10: a text has as many tokens as the reference tokenizer counts.
func TestCountText(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "hello world": 2, "hello  world": 3, "hello   world": 3, "supercalifragilistic": 6, "We know what we are, but know not what we may be.": 14,
		"antidisestablishmentarianism": 6, "2 + 2 = 4": 7, "お誕生日おめでとう": 8,
	} {
		if got := tokens.CountText(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
}

// A long run of one kind of character costs no more time than any other text.
func TestCountLongRuns(t *testing.T) {
	for _, text := range []string{"a", " ", "=", "ü", "1", "a\u0300"} {
		long := strings.Repeat(text, 200_000)
		if got := tokens.CountText(long); got < 1000 || got > int64(len(long)) {
			t.Errorf("%q: %d tokens", text, got)
		}
	}
	if got := tokens.CountText(strings.Repeat("hello world ", 1000)); got < 2000 || got > 2100 {
		t.Errorf("%d tokens", got)
	}
}

// DIA-10: every part of a request counts.
func TestCount(t *testing.T) {
	text := func(n int) dialect.Text { return dialect.Text{Text: strings.Repeat("word ", n)} }
	turn := &dialect.Turn{}
	last := tokens.Count(turn)
	grow := func(what string, least int64) {
		t.Helper()
		now := tokens.Count(turn)
		if now < last+least {
			t.Errorf("%s adds %d tokens, want at least %d", what, now-last, least)
		}
		last = now
	}
	turn.Instructions = []dialect.Text{text(100)}
	grow("a system prompt", 100)
	turn.Tools = []dialect.Tool{{Name: dialect.ToolName{Name: "search"}, Description: text(50).Text, Schema: []byte(`{"type":"object"}`)}}
	grow("a tool", 55)
	turn.Format = &dialect.Format{Schema: []byte(`{"type":"object"}`)}
	grow("a format", 4)
	for what, part := range map[string]dialect.Part{
		"a text": text(10), "an image": &dialect.Image{}, "a file": &dialect.File{}, "a text file": &dialect.File{Text: text(10).Text},
		"a call": &dialect.ToolCall{Arguments: `{"a":"b"}`}, "a result": &dialect.ToolResult{Parts: []dialect.Part{text(10)}},
		"reasoning": &dialect.Reasoning{Text: text(10).Text}, "a search": &dialect.WebSearch{Results: []dialect.SearchResult{{URL: "https://example.com/a/b", Title: "a long title of a page that is here"}}},
	} {
		turn.Messages = append(turn.Messages, dialect.Message{Parts: []dialect.Part{part}})
		grow(what, 8)
	}
}
