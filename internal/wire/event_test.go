package wire

import (
	"strings"
	"testing"

	"shunt/internal/wire/wiretest"
)

// FuzzNextEvent: both readers of events agree, however the stream is divided (DIA-3).
func FuzzNextEvent(f *testing.F) {
	f.Add([]byte("event: a\ndata: 1\ndata: 2\n\n: comment\n\ndata:3\r\n\r\nevent: b\r\rdata: 4\r\r"), uint64(9))
	f.Add([]byte("\xef\xbb\xbfdata: x\n\n\ndata\n\ndata: cut"), uint64(0))
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64) {
		var want, got strings.Builder
		var events Events
		for _, chunk := range wiretest.Chunks(stream, cuts) {
			for events.Feed(chunk); events.Next(); {
				want.WriteString(events.Name + "|" + string(events.Data) + "\x00")
			}
		}
		for pos := 0; ; {
			e, found := NextEvent(stream, pos)
			if !found {
				break
			}
			if e.HasData {
				got.WriteString(e.Name + "|" + string(e.Data) + "\x00")
			}
			pos = e.End
		}
		if got.String() != want.String() {
			t.Fatalf("%q and %q", got.String(), want.String())
		}
	})
}
