package messages

import (
	"bytes"
	"testing"
)

// WIRE-13: a stream made of nothing but enormous lines costs a meter no more than its bound, however it is cut.
func TestMetersAreBounded(t *testing.T) {
	const bound = 64 << 10
	huge := bytes.Repeat([]byte("x"), 1<<20)
	for _, size := range []int{1000, len(huge)} {
		var stream streamMeter
		whole := newResponseMeter()
		for _, prefix := range []string{"event: message_delta\ndata: ", "\ndata: ", "\n\nevent: ping\ndata: ", "\n\n", "\ndata: "} {
			stream.Write([]byte(prefix))
			for rest := huge; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				stream.Write(rest[:min(size, len(rest))])
			}
		}
		for _, prefix := range []string{`{"`, `":1,"usage":{"`, `":"`} {
			whole.Write([]byte(prefix))
			for rest := huge; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				whole.Write(rest[:min(size, len(rest))])
			}
		}
		if held := cap(stream.part) + cap(stream.data); held > bound {
			t.Errorf("chunks of %d: the stream's meter holds %d bytes", size, held)
		}
		if held := whole.Held(); held > bound/2 {
			t.Errorf("chunks of %d: the response's meter holds %d bytes", size, held)
		}
	}
}

// OBS-1: an ignored line that is split into chunks is not collected.
func TestIgnoredLinesAreNotHeld(t *testing.T) {
	var m streamMeter
	m.Write([]byte("event: content_block_delta\ndata: {\"type\""))
	m.Write(bytes.Repeat([]byte("x"), 10_000))
	if len(m.part) != 0 || cap(m.part) > 1000 {
		t.Errorf("%d bytes held", cap(m.part))
	}
}
