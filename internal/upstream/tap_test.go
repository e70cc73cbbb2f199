package upstream

import (
	"slices"
	"strings"
	"testing"

	"shunt/internal/quota"
	"shunt/internal/wire/wiretest"
)

// GPT-6: a tap reads the data at the beginning of a stream, however the stream is divided, and no more than that.
func TestTap(t *testing.T) {
	padding := ": " + strings.Repeat("x", tapLimit) + "\n"
	for stream, want := range map[string][]string{
		"event: a\ndata: one\n\ndata:two\r\n\r\n: data: three\n\n": {" one", "two"},
		"data: one\n\n" + padding + "data: two\n\n":                {" one"},
		"data: one":                              nil,
		padding[:tapLimit-6] + "\ndata: one\n\n": nil,
	} {
		for cuts := range uint64(50) {
			var got []string
			tap := &tap{left: tapLimit, observe: func(quota.Signal) {}, read: func(data []byte) (quota.Signal, bool) {
				got = append(got, string(data))
				return quota.Signal{}, true
			}}
			for _, chunk := range wiretest.Chunks([]byte(stream), cuts*0x9e3779b97f4a7c15) {
				if n, err := tap.Write(chunk); n != len(chunk) || err != nil {
					t.Fatal(n, err)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("cuts %d of %.40q: read %q, want %q", cuts, stream, got, want)
			}
			if tap.left == 0 && tap.line != nil {
				t.Error("the tap keeps a line that it does not read")
			}
		}
	}
}
