package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"shunt/internal/wire/wiretest"
)

// OBS-1: the value of a member is found wherever the document is divided, and bounded.
func TestCapture(t *testing.T) {
	for _, c := range []struct {
		document string
		path     []string
		want     string
		found    bool
	}{
		{`{"a":1,"usage":{"x":1},"b":2}`, []string{"usage"}, `{"x":1}`, true},
		{`{"a":{"usage":0},"us\u0061ge": 3 }`, []string{"usage"}, ` 3 `, true},
		{`{"response":{"output":[{"usage":9}],"usage":{"n":[1]}},"usage":5}`, []string{"response", "usage"}, `{"n":[1]}`, true},
		{`{"response":[{"usage":9}],"usage":5}`, []string{"response", "usage"}, "", false},
		{`{"response":1,"other":{"usage":9}}`, []string{"response", "usage"}, "", false},
		{`{"response":{"usage":1},"response":{"usage":2}}`, []string{"response", "usage"}, "2", true},
		{`[{"usage":1}]`, []string{"usage"}, "", false},
		{`{"usage":"` + "0123456789012345678901234567890123456789" + `"}`, []string{"usage"}, `"0123456789012345678901234567890`, true},
		{`{"a":"\"usage\":1"}`, []string{"usage"}, "", false},
	} {
		for cuts := range uint64(60) {
			got, found := "", false
			capture := Capture{Path: c.path, Limit: 32, To: CaptureFunc(func(v []byte) { got, found = string(v), true })}
			for _, chunk := range wiretest.Chunks([]byte(c.document), cuts*0x9e3779b97f4a7c15) {
				capture.Write(chunk)
			}
			if found != c.found || got != c.want {
				t.Fatalf("%s %v: %q, %v", c.document, c.path, got, found)
			}
		}
	}
}

// FuzzCapture: a plain decoder agrees on documents that it can read (OBS-1).
func FuzzCapture(f *testing.F) {
	f.Add([]byte(`{"response":{"usage":{"a":1}},"x":[{"response":{"usage":1}}]}`), uint64(7))
	f.Fuzz(func(t *testing.T, document []byte, cuts uint64) {
		var got []byte
		found := false
		capture := Capture{Path: []string{"response", "usage"}, Limit: 1 << 20, To: CaptureFunc(func(v []byte) { got, found = bytes.Clone(v), true })}
		for _, chunk := range wiretest.Chunks(document, cuts) {
			capture.Write(chunk)
		}
		if !json.Valid(document) {
			return
		}
		outer, isMember := Member(bytes.TrimSpace(document), "response")
		if !isMember || !bytes.HasPrefix(outer.Of(bytes.TrimSpace(document)), []byte("{")) {
			return // several members of one name may differ in type
		}
		inner, isMember := Member(outer.Of(bytes.TrimSpace(document)), "usage")
		if isMember && (!found || !bytes.Equal(bytes.TrimSpace(got), inner.Of(outer.Of(bytes.TrimSpace(document))))) {
			t.Fatalf("%s: %s, %v", document, got, found)
		}
	})
}
