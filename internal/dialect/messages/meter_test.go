package messages_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/wire/wiretest"
)

const (
	messageStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[]," +
		"\"usage\":{\"input_tokens\":11,\"cache_creation_input_tokens\":22,\"cache_read_input_tokens\":33,\"cache_creation\":{\"input_tokens\":9},\"output_tokens\":1}}}\n\n"
	textDelta    = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" and then\"}}\n\n"
	messageDelta = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":44}}\n\n"
	messageStop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	liar         = "event: content_block_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":999}}\n\n"
)

var fullUsage = dialect.Usage{Input: 11, CacheCreation: 22, CacheRead: 33, Output: 44, Known: true}

// OBS-1, FO-9: what a stream cost and whether it came to its end.
func TestStreamMeter(t *testing.T) {
	unnamed := func(s string) string {
		lines := strings.SplitAfter(s, "\n")
		return strings.Join(lines[1:], "")
	}
	for _, tt := range []struct {
		name, stream string
		usage        dialect.Usage
		complete     bool
	}{
		{"whole", messageStart + string(api.Ping()) + textDelta + liar + messageDelta + messageStop, fullUsage, true},
		{"without event fields", unnamed(messageStart) + unnamed(textDelta) + unnamed(messageDelta) + unnamed(messageStop), fullUsage, true},
		{"byte order mark", "\ufeff" + messageStart, dialect.Usage{Input: 11, CacheCreation: 22, CacheRead: 33, Output: 1, Known: true}, false},
		{"cut", messageStart + textDelta + messageDelta, fullUsage, false},
		{"cut before the last blank line", messageStart + messageDelta + strings.TrimSuffix(messageStop, "\n"), fullUsage, false},
		{"error event", "event: error\ndata: " + overloaded + "\n\n", dialect.Usage{}, true},
		{"data on several lines", "event: message_delta\ndata: {\"usage\":\ndata: {\"output_tokens\":\ndata: 5}}\n\n", dialect.Usage{Output: 5, Known: true}, false},
		{"event field after the data", "data: {\"usage\":{\"output_tokens\":5}}\nevent: message_delta\n\n", dialect.Usage{Output: 5, Known: true}, false},
		{"later counts replace earlier ones", messageStart + "event: message_delta\ndata: {\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":null,\"output_tokens\":-1}}\n\n", dialect.Usage{Input: 5, CacheCreation: 22, CacheRead: 33, Output: 1, Known: true}, false},
		{"unreadable", "event: message_start\ndata: {\"message\":{\"usage\":[1]}}\n\nevent: message_delta\ndata: oops\n\nevent: message_delta\ndata: {\"usage\":{\"output_tokens\":\"5\"}}\n\n", dialect.Usage{}, false},
		{"no data", "event: message_stop\n\n", dialect.Usage{}, false},
		{"nothing", "", dialect.Usage{}, false},
	} {
		for ending, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
			t.Run(tt.name+" "+ending, func(t *testing.T) {
				stream := []byte(strings.ReplaceAll(tt.stream, "\n", end))
				for size := 1; size <= len(stream)+1; size += 1 + size/8 {
					m := metered(stream, size)
					if m.Usage() != tt.usage || m.Complete() != tt.complete {
						t.Fatalf("in chunks of %d: %+v, complete %v; want %+v, %v", size, m.Usage(), m.Complete(), tt.usage, tt.complete)
					}
				}
			})
		}
	}
}

// metered returns a meter that has read a stream in chunks of a size in bytes.
func metered(stream []byte, size int) dialect.StreamMeter {
	m := api.NewStreamMeter()
	for chunk := range slices.Chunk(stream, size) {
		m.Write(chunk)
	}
	return m
}

// OBS-1: the type of an error event, wherever it is and however the stream is split, in a form that can be shown.
func TestStreamFailure(t *testing.T) {
	event := func(data string) string { return "event: error\ndata: " + data + "\n\n" }
	of := func(kind string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"m"},"request_id":"r"}`
	}
	for _, tt := range []struct {
		name, stream string
		want         messages.ErrorType
	}{
		{"in the middle", messageStart + textDelta + event(overloaded) + textDelta, messages.TypeOverloaded},
		{"first", event(of("invalid_request_error")), messages.TypeInvalidRequest},
		{"of several the first", event(of("api_error")) + event(overloaded), messages.TypeAPI},
		{"without an event field", messageStart + "data: " + of("api_error") + "\n\n", messages.TypeAPI},
		{"data on several lines", "event: error\ndata: {\"error\":\ndata: {\"type\":\"timeout_error\"}}\n\n", messages.TypeTimeout},
		{"new type", event(of("brand_new_error")), "brand_new_error"},
		{"too long", event(of(strings.Repeat("x", 65))), "unknown"},
		{"not for show", event(of(`a b\n`)), "unknown"},
		{"no JSON", event("overloaded_error"), "unknown"},
		{"no type", event(`{"error":{}}`), "unknown"},
		{"huge", event(`{"error":{"message":"` + strings.Repeat("x", 30_000) + `","type":"api_error"}}`), "unknown"},

		{"not whole", messageStart + strings.TrimSuffix(event(overloaded), "\n"), ""},
		{"a liar", messageStart + "event: content_block_delta\ndata: " + overloaded + "\n\n", ""},
		{"none", messageStart + messageDelta + messageStop, ""},
	} {
		for ending, end := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
			stream := []byte(strings.ReplaceAll(tt.stream, "\n", end))
			for size := 1; size <= len(stream)+1; size += 1 + size/8 {
				m := metered(stream, size)
				if m.Failure() != string(tt.want) || tt.want != "" && !m.Complete() {
					t.Fatalf("%s, %s in chunks of %d: %q, want %q", tt.name, ending, size, m.Failure(), tt.want)
				}
			}
		}
	}
}

// OBS-1: the usage of a JSON response of any size is read, wherever it is.
func TestAnswerMeter(t *testing.T) {
	const usage = `"usage":{"input_tokens":11,"cache_creation_input_tokens":22,"cache_read_input_tokens":33,"cache_creation":{"output_tokens":7},"output_tokens":44}`
	content := `"content":[{"type":"text","text":"a \"b\" \\\\\" {[ \"usage\":{\"input_tokens\":9}"},{"usage":{"input_tokens":8}}]`
	for _, tt := range []struct {
		name, doc string
		want      dialect.Usage
	}{
		{"after the content", `{"id":"msg_1",` + content + `,` + usage + `}`, fullUsage},
		{"before the content", `{` + usage + `,` + content + `}`, fullUsage},
		{"white space", "\n{ " + content + " ,\n \"us\\u0061ge\" : { \"output_tokens\" : 5 } }\n", dialect.Usage{Output: 5, Known: true}},
		{"a value called usage", `{"a":"usage","b":{"input_tokens":1}}`, dialect.Usage{}},
		{"null", `{"usage":null}`, dialect.Usage{}},
		{"count_tokens", `{"input_tokens":5}`, dialect.Usage{}},
		{"array", `[{"usage":{"input_tokens":5}},"usage",{"input_tokens":5}]`, dialect.Usage{}},
		{"after the document", `{} {"usage":{"input_tokens":5}}`, dialect.Usage{}},
		{"cut", `{"usage":{"input_tokens":5}`, dialect.Usage{}},
		{"not JSON", `<html>"usage":{"input_tokens":5}`, dialect.Usage{}},
		{"nothing", ``, dialect.Usage{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.doc)+1; size++ {
				m := api.NewMeter()
				for rest := tt.doc; rest != ""; {
					n := min(size, len(rest))
					m.Write([]byte(rest[:n]))
					rest = rest[n:]
				}
				if m.Usage() != tt.want {
					t.Fatalf("in chunks of %d: %+v, want %+v", size, m.Usage(), tt.want)
				}
			}
		})
	}
}

// FuzzStreamMeter: chunking never matters, and a plain reader of the whole stream agrees (OBS-1).
func FuzzStreamMeter(f *testing.F) {
	for _, seed := range []string{
		messageStart + textDelta + messageDelta + messageStop,
		strings.ReplaceAll(messageStart+string(api.Ping())+liar+messageStop, "\n", "\r\n"),
		"data:{\"type\":\"message_delta\",\"usage\":{\"output_tokens\":1}}\r\r", "event: error\ndata\n\n", "event\ndata: {\"type\":\"message_stop\"}\n\n", "event: x\nevents: y\nevent: message_stop\ndata: \n\n", "\ufeff: c\n\n",
	} {
		f.Add([]byte(seed), uint64(0b110101))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64) {
		whole, chunked := api.NewStreamMeter(), api.NewStreamMeter()
		whole.Write(stream)
		for _, chunk := range wiretest.Chunks(stream, cuts) {
			chunked.Write(chunk)
		}
		if whole.Usage() != chunked.Usage() || whole.Complete() != chunked.Complete() || whole.Failure() != chunked.Failure() {
			t.Fatalf("in one chunk %+v, %v, %q; in several %+v, %v, %q", whole.Usage(), whole.Complete(), whole.Failure(), chunked.Usage(), chunked.Complete(), chunked.Failure())
		}
		var want dialect.Usage
		complete, failed := false, false
		events, vague := plainEvents(stream)
		if vague {
			return
		}
		for _, ev := range events {
			if !json.Valid([]byte(ev.data)) && (ev.name == "message_start" || ev.name == "message_delta") {
				return // what can be made out of malformed data is not promised
			}
			switch ev.name {
			case "message_start":
				addPlainUsage(&want, plainMember(plainMember([]byte(ev.data), "message"), "usage"))
			case "message_delta":
				addPlainUsage(&want, plainMember([]byte(ev.data), "usage"))
			case "message_stop":
				complete = true
			case "error":
				complete, failed = true, true
			}
		}
		if whole.Usage() != want || whole.Complete() != complete || (whole.Failure() != "") != failed {
			t.Fatalf("%+v, %v; reference %+v, %v", whole.Usage(), whole.Complete(), want, complete)
		}
	})
}

// FuzzAnswerMeter: chunking never matters, and encoding/json agrees (OBS-1).
func FuzzAnswerMeter(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"text":"\\\"usage\":{"}],"usage":{"input_tokens":1,"output_tokens":2}}`, `{"us\u0061ge":{"input_tokens":1},"usage":null}`,
		`{"usage":{"cache_read_input_tokens":1.5,"cache_creation_input_tokens":3}} x`, `[{"usage":{"input_tokens":1}}]`, `{"a":{"usage":{"input_tokens":1}},"":"\\"}`,
		`{""[{""}],"usage":{"input_tokens":0""}"00":,`,
	} {
		f.Add([]byte(seed), uint64(0b110101))
	}
	f.Fuzz(func(t *testing.T, doc []byte, cuts uint64) {
		whole, chunked := api.NewMeter(), api.NewMeter()
		whole.Write(doc)
		for _, chunk := range wiretest.Chunks(doc, cuts) {
			chunked.Write(chunk)
		}
		if whole.Usage() != chunked.Usage() {
			t.Fatalf("in one chunk %+v; in several %+v", whole.Usage(), chunked.Usage())
		}
		if !json.Valid(doc) {
			return
		}
		var want dialect.Usage
		for _, m := range plainMembers(doc) {
			if m.key == "usage" {
				addPlainUsage(&want, m.value)
			}
		}
		if whole.Usage() != want {
			t.Fatalf("%+v; reference %+v", whole.Usage(), want)
		}
	})
}

type plainMemberOf struct {
	key   string
	value json.RawMessage
}

// plainMembers are the members of a JSON object in order; none if raw is anything else.
func plainMembers(raw []byte) (members []plainMemberOf) {
	if !json.Valid(raw) || !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return nil
		}
		members = append(members, plainMemberOf{key.(string), value})
	}
	return members
}

func plainMember(raw []byte, name string) (value []byte) {
	for _, m := range plainMembers(raw) {
		if m.key == name {
			value = m.value
		}
	}
	return value
}

func addPlainUsage(u *dialect.Usage, raw []byte) {
	fields := map[string]*int64{
		"input_tokens": &u.Input, "output_tokens": &u.Output,
		"cache_read_input_tokens": &u.CacheRead, "cache_creation_input_tokens": &u.CacheCreation,
	}
	for _, m := range plainMembers(raw) {
		n, err := strconv.ParseInt(string(m.value), 10, 64)
		if field := fields[m.key]; field != nil && err == nil && n >= 0 {
			*field, u.Known = n, true
		}
	}
}

func BenchmarkStreamMeter(b *testing.B) {
	stream := []byte(messageStart + strings.Repeat(textDelta, 2000) + messageDelta + messageStop)
	for name, size := range map[string]int{"event": len(textDelta), "4KiB": 4 << 10, "32KiB": 32 << 10} {
		b.Run("chunks of "+name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				m := api.NewStreamMeter()
				for rest := stream; len(rest) > 0; {
					n := min(size, len(rest))
					m.Write(rest[:n])
					rest = rest[n:]
				}
				if !m.Complete() {
					b.Fatal("not complete")
				}
			}
		})
	}
}

func BenchmarkAnswerMeter(b *testing.B) {
	doc := []byte(`{"content":` + string(codingTurn(100_000)) + `,"usage":{"input_tokens":1}}`)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		m := api.NewMeter()
		for rest := doc; len(rest) > 0; {
			n := min(4<<10, len(rest))
			m.Write(rest[:n])
			rest = rest[n:]
		}
		if !m.Usage().Known {
			b.Fatal("no usage")
		}
	}
}
