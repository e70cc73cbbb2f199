package wire_test

import (
	"bytes"
	"testing"

	"shunt/internal/wire"
)

// ACC-1: a member is replaced where it is, or added in the style of its neighbour; no other byte changes.
func TestSetMember(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{`{"a":1}`, "", `{"a":1,"x":9}`},
		{"{\n  \"a\" : 1,\n  \"b\": 2\n}", "", "{\n  \"a\" : 1,\n  \"b\": 2,\n  \"x\": 9\n}"},
		{"{\n  \"a\" : 1,\n  \"b\": 2\n}", "a", "{\n  \"a\" : 1,\n  \"x\" : 9,\n  \"b\": 2\n}"},
		{`{"x":1,"a":[{"x":2}]}`, "", `{"x":9,"a":[{"x":2}]}`},
		{`{"x":1,"x":{"y":2}}`, "", `{"x":1,"x":9}`},
		{`{"\u0078" : null }`, "", `{"\u0078" : 9 }`},
		{`{"a":1}`, "b", `{"a":1}`},
		{`{}`, "", `{}`},
	} {
		segments, _ := wire.Splice([]byte(tt.before), wire.SetMember([]byte(tt.before), 0, "x", []byte("9"), tt.after))
		if got := string(bytes.Join(segments, nil)); got != tt.want {
			t.Errorf("%q after %q: %q, want %q", tt.before, tt.after, got, tt.want)
		}
	}
}
