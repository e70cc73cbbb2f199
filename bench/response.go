package main

import (
	"strings"
	"time"
)

// response is what the upstream sends in response to every request: one JSON document, a short event stream in one piece, or
// a stream of text events, each written separately after a pause.
type response struct {
	stream      bool
	events      int
	pace        time.Duration
	asRequested bool // JSON or the short stream, as the request says
	echo        bool // describe the request instead
}

// size returns the length of the body in bytes.
func (a response) size() int64 {
	switch {
	case !a.stream:
		return int64(len(wholeMessage))
	case a.pace == 0:
		return int64(len(shortStream))
	}
	return int64(len(streamHead) + a.events*len(textEvent) + len(streamTail))
}

const (
	streamHead = "event: message_start\n" +
		`data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":28000,"output_tokens":1}}}` + "\n\n" +
		"event: content_block_start\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
	textEvent = "event: content_block_delta\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of a result, "}}` + "\n\n"
	streamTail = "event: content_block_stop\n" +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" +
		"event: message_delta\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":40}}` + "\n\n" +
		"event: message_stop\n" +
		`data: {"type":"message_stop"}` + "\n\n"
)

var (
	shortStream  = streamHead + strings.Repeat(textEvent, 8) + streamTail
	wholeMessage = `{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"` +
		strings.Repeat(`some words of a \"result\",\n`, 24) +
		`"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":28000,"output_tokens":160,"service_tier":"standard"}}`
)
