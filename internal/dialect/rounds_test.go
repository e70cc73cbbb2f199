package dialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/internal/dialect"
)

// conversation reads messages of one part each: "u" and "a" are texts of the user and the assistant, "c1" is a call and "r1" a
// result of it.
func conversation(parts ...string) (messages []dialect.Message) {
	for _, p := range parts {
		m := dialect.Message{Role: dialect.Assistant}
		switch p[0] {
		case 'u':
			m.Role, m.Parts = dialect.User, []dialect.Part{dialect.Text{Text: p}}
		case 'a':
			m.Parts = []dialect.Part{dialect.Text{Text: p}}
		case 'c':
			m.Parts = []dialect.Part{&dialect.ToolCall{ID: p[1:], Arguments: "{}"}}
		case 'r':
			m.Role, m.Parts = dialect.User, []dialect.Part{&dialect.ToolResult{CallID: p[1:], Parts: []dialect.Part{dialect.Text{Text: p}}}}
		}
		messages = append(messages, m)
	}
	return messages
}

// outline is the reverse: the parts of messages, with a bar between messages. A result that says that its call was interrupted
// is "x1".
func outline(messages []dialect.Message) string {
	var all []string
	for _, m := range messages {
		var parts []string
		for _, part := range m.Parts {
			switch p := part.(type) {
			case dialect.Text:
				parts = append(parts, p.Text)
			case *dialect.ToolCall:
				parts = append(parts, "c"+p.ID)
			case *dialect.ToolResult:
				if p.Failed {
					parts = append(parts, "x"+p.CallID)
				} else {
					parts = append(parts, "r"+p.CallID)
				}
			}
		}
		all = append(all, strings.Join(parts, " "))
	}
	return strings.Join(all, " | ")
}

// INB-1: calls that the assistant made after a result stay after it.
func TestRounds(t *testing.T) {
	for given, want := range map[string]string{
		"u a c1 r1 c2 r2":             "u | a c1 | r1 | c2 | r2",
		"u a c1 r1 a c2 r2 a":         "u | a c1 | r1 | a c2 | r2 | a",
		"u a c1 c2 r2 r1 c3 r3 u":     "u | a c1 c2 | r1 r2 | c3 | r3 u",
		"u a c1 r1 r1 a c1 r1":        "u | a c1 | r1 | a c1 | r1",
		"u a c1 c2 r1 a r2":           "u | a c1 c2 | r1 r2 | a",
		"u a c1 u":                    "u | a c1 | x1 u",
		"u a c1 c2 r1":                "u | a c1 c2 | r1 x2",
		"u a c1 c2":                   "u | a c1 c2",
		"u a r9 a":                    "u | a | r9 | a",
		"u a c1 r1 c2 u r2 a c3 r3 a": "u | a c1 | r1 | c2 | r2 u | a c3 | r3 | a",
	} {
		if got := outline(dialect.Normalize(conversation(strings.Fields(given)...))); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// INB-4: a conversation grows by appending, so that its beginning stays in the prompt cache: each round of calls, once it has its
// results, is never moved by what follows.
func TestGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := []string{"u"}
		call := 0
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			if rapid.Bool().Draw(t, "text") {
				parts = append(parts, "a")
			}
			var results []string
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				call++
				parts, results = append(parts, fmt.Sprintf("c%d", call)), append(results, fmt.Sprintf("r%d", call))
			}
			before := outline(dialect.Normalize(conversation(slices.Concat(parts, results)...)))
			parts = append(parts, rapid.Permutation(results).Draw(t, "results")...)
			if got := outline(dialect.Normalize(conversation(parts...))); got != before {
				t.Fatalf("%v: %s, want %s", parts, got, before)
			}
			if got := outline(dialect.Normalize(conversation(append(slices.Clone(parts), "a", "c0")...))); !strings.HasPrefix(got, before+" | ") {
				t.Fatalf("%v grows to %s", parts, got)
			}
		}
	})
}
