package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The load tells the upstream, through whatever stands between, how to answer: this many text events, this far apart.
const (
	eventsHeader = "x-bench-events"
	paceHeader   = "x-bench-pace"
)

// upstream answers like the provider, as cheaply as it can.
type upstream struct {
	server *http.Server
	url    string
	open   atomic.Int64 // paced streams at present
	peak   atomic.Int64 // the most at once since it was last reset
}

func startUpstream() (*upstream, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the upstream: %w", err)
	}
	u := &upstream{url: "http://" + listener.Addr().String()}
	u.server = &http.Server{Handler: http.HandlerFunc(u.serve)}
	go u.server.Serve(listener) //nolint // it ends with the process
	return u, nil
}

const (
	streamHead = "event: message_start\n" +
		`data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":28000,"output_tokens":1}}}` + "\n\n" +
		"event: content_block_start\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
	textEvent = "event: content_block_delta\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of an answer, "}}` + "\n\n"
	streamTail = "event: content_block_stop\n" +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" +
		"event: message_delta\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":40}}` + "\n\n" +
		"event: message_stop\n" +
		`data: {"type":"message_stop"}` + "\n\n"
)

// shortAnswer is the answer without a pace, sent in one piece.
var shortAnswer = streamHead + strings.Repeat(textEvent, 8) + streamTail

// answerSize is the length of an answer of so many text events, in bytes.
func answerSize(events int) int64 {
	return int64(len(streamHead) + events*len(textEvent) + len(streamTail))
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	h := w.Header()
	h.Set("content-type", "text/event-stream; charset=utf-8")
	h.Set("request-id", "req_bench")
	reset := strconv.FormatInt(time.Now().Add(3*time.Hour).Unix(), 10)
	for _, window := range [...]string{"5h", "7d"} {
		h.Set("anthropic-ratelimit-unified-"+window+"-utilization", "0.25")
		h.Set("anthropic-ratelimit-unified-"+window+"-reset", reset)
		h.Set("anthropic-ratelimit-unified-"+window+"-status", "allowed")
	}
	h.Set("anthropic-ratelimit-unified-status", "allowed")
	events, err := strconv.Atoi(r.Header.Get(eventsHeader))
	if err != nil {
		_, _ = io.WriteString(w, shortAnswer) // a client that left shows in the load's own count
		return
	}
	pace, err := time.ParseDuration(r.Header.Get(paceHeader))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	u.stream(w, events, pace)
}

func (u *upstream) stream(w http.ResponseWriter, events int, pace time.Duration) {
	now := u.open.Add(1)
	defer u.open.Add(-1)
	for peak := u.peak.Load(); now > peak && !u.peak.CompareAndSwap(peak, now); peak = u.peak.Load() {
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	flush := http.NewResponseController(w).Flush
	part := streamHead
	for range events {
		if _, err := io.WriteString(w, part); err != nil || flush() != nil {
			return
		}
		part = textEvent
		<-tick.C
	}
	_, _ = io.WriteString(w, part+streamTail)
}
