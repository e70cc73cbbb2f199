package messages_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/wire"
	"shunt/internal/wire/wiretest"
)

const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`

// FO-11: the first event that is neither a ping nor a comment, as soon as it is complete, with every line end.
func TestFirstEvent(t *testing.T) {
	for _, tt := range []struct{ name, head, event, data string }{
		{"at once", "event: error\ndata: " + overloaded + "\n\nevent: x\n", "error", overloaded},
		{"after pings and comments", ":hi\n\n: hi\n: ho\n\nevent: ping\ndata: {}\n\ndata: {\"type\": \"ping\"}\n\n\n\nevent: error\ndata: " + overloaded + "\n\n", "error", overloaded},
		{"comment inside", "event: error\n: hi\ndata: a\n\n", "error", "a"},
		{"no event field", "data: " + overloaded + "\n\n", "error", overloaded},
		{"no event field and no type", "data: [1]\n\n", "", "[1]"},
		{"no space after the colon", "event:error\ndata:a\n\n", "error", "a"},
		{"one space only is taken", "data:  a \nevent: e\n\n", "e", " a "},
		{"joined data", "event: e\ndata: a\ndata\ndata: b\n\n", "e", "a\n\nb"},
		{"empty data", "event: e\ndata\n\n", "e", ""},
		{"other fields", "id: 1\nretry: 5\ndatas: x\nevent: e\ndata: a\n\n", "e", "a"},
		{"last event field", "event: e\nevent: f\ndata: a\n\n", "f", "a"},
		{"byte order mark", "\ufeffevent: e\ndata: a\n\n", "e", "a"},
		{"blocks without data are no events", "event: e\n\nid: 1\n\nevent: f\ndata: a\n\n", "f", "a"},
	} {
		for ending, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
			t.Run(tt.name+" "+ending, func(t *testing.T) {
				head := []byte(strings.ReplaceAll(tt.head, "\n", end))
				ev, found := messages.FirstEvent(head)
				data := tt.data
				if !found || ev.Name != tt.event || string(ev.Data) != data {
					t.Fatalf("%+v, %v; want %q with %q", ev, found, tt.event, data)
				}
				if spans := strings.Contains(data, "\n"); spans != (ev.DataSpan == wire.Span{}) || string(head[ev.DataSpan.Start:ev.DataSpan.End]) != data && !spans {
					t.Errorf("DataSpan %v of %q", ev.DataSpan, head)
				}
			})
		}
	}
}

// FO-11: the raw bytes of the event, so that it can be sent on or edited in place.
func TestFirstEventSpan(t *testing.T) {
	const before, event, after = ": hi\r\n\r\n", "event: e\r\ndata: a\r\n\r\n", "event: f\r\n"
	ev, found := messages.FirstEvent([]byte(before + event + after))
	if !found || ev.Start != len(before) || ev.End != len(before)+len(event) {
		t.Errorf("%+v, %v", ev, found)
	}
}

// FO-11: an event that has not ended is not judged.
func TestFirstEventIncomplete(t *testing.T) {
	for _, head := range []string{"", "\n", "event: error\n", "event: error\ndata: " + overloaded, "event: error\ndata: " + overloaded + "\n", ": hi\n\nevent: ping\ndata: {}\n\ndata: a\n"} {
		if ev, found := messages.FirstEvent([]byte(head)); found {
			t.Errorf("%q: %+v", head, ev)
		}
	}
	const pings = ": hi\n\nevent: ping\ndata: {}\n\n"
	for head, want := range map[string]int{pings: len(pings), pings + "event: err": len(pings), "event: err": 0, ": hi\r\n\r\n\r\nd": len(": hi\r\n\r\n\r\n")} {
		if ev, _ := messages.FirstEvent([]byte(head)); ev.Start != want {
			t.Errorf("%q: the block that has not ended starts at %d, not %d", head, ev.Start, want)
		}
	}
}

// WIRE-12: shunt's own ping is one event that everything here takes for a ping.
func TestPing(t *testing.T) {
	if _, found := messages.FirstEvent(api.Ping()); found {
		t.Error("FirstEvent stops at it")
	}
	var b wire.Boundary
	b.Write(api.Ping())
	if !b.AtEnd() {
		t.Error("it does not end an event")
	}
}

// FuzzFirstEvent: the same event as a plain reader of the whole stream finds, and no sooner than it is complete (FO-11).
func FuzzFirstEvent(f *testing.F) {
	for _, seed := range []string{
		"", "event: error\ndata: " + overloaded + "\n\n", ": c\r\n\r\nevent: ping\r\ndata: {}\r\n\r\ndata: {\"type\":\"x\"}\r\n\r\n",
		"data\rdata: b\r\r", "\ufeffevent: e\n\r\ndata:a\r\n\r", "data: a\n\ndata: b\n\n", "data:{\"type\":\"ping\",\"type\":\"\\u0070ing\"}\n\ndata: \x00\n\n", "event\ndata:{\"type\":\"0\"\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		ev, found := messages.FirstEvent(head)
		if events, vague := plainEvents(head); !vague {
			events = append(slices.DeleteFunc(events, func(ev plainEvent) bool { return ev.name == "ping" }), plainEvent{})
			if found != (len(events) > 1) || ev.Name != events[0].name || string(ev.Data) != events[0].data {
				t.Fatalf("%+v, %v; reference %+v", ev, found, events)
			}
		}
		for cut := range head {
			if early, found := messages.FirstEvent(head[:cut]); found && (early.Name != ev.Name || !bytes.Equal(early.Data, ev.Data)) {
				t.Fatalf("the first %d bytes have %+v, all have %+v", cut, early, ev)
			}
		}
		if !found {
			return
		}
		if _, earlier := messages.FirstEvent(head[:ev.Start]); earlier {
			t.Fatalf("another event before %+v", ev)
		}
		raw := head[ev.Start:ev.End]
		if !bytes.HasPrefix(raw, []byte("\ufeff")) { // a mark counts at the start of a stream only
			alone, found := messages.FirstEvent(raw)
			if !found || alone.Name != ev.Name || !bytes.Equal(alone.Data, ev.Data) || alone.End != len(raw) {
				t.Fatalf("its bytes %q read as %+v", raw, alone)
			}
		}
		if ev.DataSpan != (wire.Span{}) && !bytes.Equal(head[ev.DataSpan.Start:ev.DataSpan.End], ev.Data) {
			t.Fatalf("DataSpan %v of %q", ev.DataSpan, head)
		}
	})
}

type plainEvent struct{ name, data string }

// plainEvents reads a stream the slow way. It is vague about an event that names itself twice, or not at all outside
// malformed data: what is made of those is not promised.
func plainEvents(stream []byte) (events []plainEvent, vague bool) {
	lines := wiretest.Lines(stream)
	var ev plainEvent
	var data []string
	names := 0
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if len(data) > 0 {
				ev.data = strings.Join(data, "\n")
				vague = vague || names > 1
				if ev.name == "" {
					vague = vague || !json.Valid([]byte(ev.data))
					for _, m := range plainMembers([]byte(ev.data)) {
						if m.key == "type" {
							ev.name, _ = decodeAny(m.value).(string)
						}
					}
				}
				events = append(events, ev)
			}
			ev, data, names = plainEvent{}, nil, 0
		case name == "event":
			ev.name = value
			names++
		case name == "data":
			data = append(data, value)
		}
	}
	return events, vague
}
