package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"shunt/internal/wire"
)

// FuzzValid: what is valid, and its compact form, are those of encoding/json (DIA-2).
func FuzzValid(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `{}`, `[]`, ` { } `, `{"a":1}`, `{"a":1,}`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `[1 2]`, `{1:2}`, `]`, `{]`, `[}`,
		`"a"`, `"a`, `"\u00e9"`, `"\ud83d\ude00"`, `"\u12"`, `"\x"`, "\"\n\"", `"\"`, `true`, `tru`, `nullx`, `false `, `0`, `00`, `-0`, `-`, `1.`, `1.5e+3`,
		`1e`, `.5`, `1 2`, `[[[[]]]]`, `{"a":{"b":[1,{"c":null}]}} `, strings.Repeat("[", 300) + strings.Repeat("]", 300), "\"\xff\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid := json.Valid(text)
		if got := wire.Valid(text); got != valid {
			t.Fatalf("%q: valid %v, want %v", text, got, valid)
		}
		if !valid {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		if got := wire.AppendCompact(nil, text); !bytes.Equal(got, want.Bytes()) || wire.IsCompact(text) != bytes.Equal(text, want.Bytes()) {
			t.Fatalf("%q: compact %q, want %q", text, got, want.Bytes())
		}
	})
}
