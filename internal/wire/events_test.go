package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"shunt/internal/wire"
	"shunt/internal/wire/wiretest"
)

// FuzzEvents: the division into chunks makes no difference (DIA-3), and a plain reader reads the same events.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"event: a\ndata: b\n\n", "data: a\r\ndata: b\r\n\r\ndata\n\n", "\ufeffdata: a\n\n: c\n\n", "data: a\rdata:b\r\revent: x\n\n", "event: x\nid: 1\n\ndata: y\n\n", "data: z",
	} {
		f.Add([]byte(seed), uint64(0b101101))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64) {
		var e wire.Events
		var got []string
		for _, chunk := range wiretest.Chunks(stream, cuts) {
			chunk = bytes.Clone(chunk)
			var names []string
			var datas [][]byte
			for e.Feed(chunk); e.Next(); {
				names, datas = append(names, e.Name), append(datas, e.Data)
			}
			for i := range names { // all are valid until the next chunk
				got = append(got, names[i]+"="+string(datas[i]))
			}
			clear(chunk)
		}
		if want := plainEvents(stream); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q: %q, want %q", stream, got, want)
		}
	})
}

func plainEvents(stream []byte) (events []string) {
	name, data := "", []string(nil)
	lines := wiretest.Lines(stream)
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				events = append(events, name+"="+strings.Join(data, "\n"))
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return events
}

// DIA-2: an event of 16 MiB is read, a longer one is an error, and neither leaves a large buffer behind.
func TestEventSizes(t *testing.T) {
	for size, fits := range map[int]bool{wire.MaxEvent: true, wire.MaxEvent + 100: false} {
		var e wire.Events
		read := 0
		feed := func(p []byte) {
			for e.Feed(p); e.Next(); {
				read = len(e.Data)
			}
		}
		feed([]byte("data: "))
		for chunk := bytes.Repeat([]byte("x"), 1<<16); size > 0; size -= min(size, len(chunk)) {
			feed(chunk[:min(size, len(chunk))])
		}
		feed([]byte("\n\n"))
		if (e.Err == nil) != fits || fits && read != wire.MaxEvent {
			t.Errorf("fits %v: read %d bytes, %v", fits, read, e.Err)
		}
	}
}
