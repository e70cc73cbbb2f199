package dialect_test

import (
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// SES-1: a session's ID is decoded once or, within a document in a string, twice, and bounded to 256 bytes.
func TestSessionID(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		nested bool
		want   string
	}{
		"none":         {"", false, ""},
		"plain":        {"s-1", false, "s-1"},
		"escaped":      {`a\u0062`, false, "ab"},
		"nested":       {`a\\u0062`, true, "ab"},
		"once, nested": {`a\\b`, false, `a\b`},
		"long":         {strings.Repeat("x", 300), false, strings.Repeat("x", 256)},
	} {
		r := dialect.Request{Session: wire.Span{End: len(c.body)}, SessionNested: c.nested}
		if got := r.SessionID([]byte(c.body)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
