package wire

import (
	"bytes"
	"strings"
	"testing"

	"shunt/internal/wire/wiretest"
)

// readEvents returns the events of a stream that is divided into chunks, one per line.
func readEvents(r *EventReader, chunks [][]byte) string {
	var b strings.Builder
	for _, chunk := range chunks {
		r.Write(chunk, func(name, data []byte) { b.WriteString(string(name) + "|" + string(data) + "\x00") })
	}
	return b.String()
}

// FuzzEventReader: the division of a stream into chunks makes no difference, and both readers of events agree (DIA-3).
func FuzzEventReader(f *testing.F) {
	f.Add([]byte("event: a\ndata: 1\ndata: 2\n\n: comment\n\ndata:3\r\n\r\nevent: b\r\rdata: 4\r\r"), uint64(9))
	f.Add([]byte("\xef\xbb\xbfdata: x\n\n\ndata\n\ndata: cut"), uint64(0))
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64) {
		whole := readEvents(&EventReader{Limit: 1 << 20}, [][]byte{stream})
		if got := readEvents(&EventReader{Limit: 1 << 20}, wiretest.Chunks(stream, cuts)); got != whole {
			t.Fatalf("in one chunk %q, in several %q", whole, got)
		}
		var plain strings.Builder
		for pos := 0; ; {
			e, found := NextEvent(stream, pos)
			if !found {
				break
			}
			if e.HasData {
				plain.WriteString(e.Name + "|" + string(e.Data) + "\x00")
			}
			pos = e.End
		}
		if plain.String() != whole {
			t.Fatalf("%q and %q", plain.String(), whole)
		}
	})
}

// DIA-2: a large event is truncated at the limit, and its memory does not stay.
func TestEventReaderIsBounded(t *testing.T) {
	r := EventReader{Limit: 1 << 20}
	longest := 0
	for range 4 {
		r.Write([]byte("data: "), nil)
		for range 40 {
			r.Write(bytes.Repeat([]byte("x"), 64<<10), nil)
		}
		r.Write([]byte("\n\n"), func(_, data []byte) { longest = max(longest, len(data)) })
	}
	if longest > 1<<20 || longest < 1<<19 {
		t.Errorf("%d bytes", longest)
	}
	if held := cap(r.part) + cap(r.data); held > 2*spareBytes {
		t.Errorf("%d bytes stay", held)
	}
}
