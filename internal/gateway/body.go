package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/upstream"
)

// readBody reads a request's whole body, which may be compressed. If the slot is unrouted, it reads past the beginning only if
// the model there uses no credential of the operator's (AUTH-2c).
func (g *Gateway) readBody(w http.ResponseWriter, request *upstream.Request, s *snapshot, slot *slot, defaults []string) *upstream.Failure {
	r := request.Client
	compressed, f := g.isCompressed(r)
	if f != nil {
		leaveUnread(w, r)
		return f
	}
	limit := s.Config.Server.Limits.MaxRequestBytes
	control := http.NewResponseController(w)
	paced := &pacedReader{body: r.Body, control: control, idle: s.Config.Server.Timeouts.ReadIdle, began: time.Now()}
	var source io.Reader = paced
	if slot.unrouted {
		find := leadingModel
		if compressed {
			find = leadingModelOf
		}
		head, model, err := find(request.Dialect, paced)
		switch {
		case err != nil && err != io.EOF:
			return bodyFailure(w, r, err, limit)
		case model != "" && !s.spends(s.Config.Route(model, defaults)):
			slot.routed()
		case model != "" || err == nil:
			leaveUnread(w, r)
			return s.needsToken(request.Dialect)
		}
		source = io.MultiReader(bytes.NewReader(head), paced)
	}
	body, err := upstream.ReadBody(source, r.ContentLength, limit)
	if err != nil {
		return bodyFailure(w, r, err, limit)
	}
	control.SetReadDeadline(time.Time{})
	request.Record.BytesIn = int64(len(body.Bytes()))
	if request.Body = body; !compressed {
		return nil
	}
	request.Compressed = body
	if request.Body, err = decompress(body.Bytes(), limit); err != nil {
		request.Release()
		return bodyFailure(w, r, err, min(limit, maxDecompressed))
	}
	return nil
}

// bodyFailure returns the failure of a request whose body could not be read.
func bodyFailure(w http.ResponseWriter, r *http.Request, err error, limit int64) *upstream.Failure {
	leaveUnread(w, r)
	switch {
	case errors.Is(err, upstream.ErrTooLarge):
		return fail(http.StatusRequestEntityTooLarge, dialect.TooLarge, fmt.Sprintf(
			"the request is larger than the %d bytes that this gateway accepts: shorten the conversation, or have its operator raise server.limits.max_request_bytes", limit))
	case errors.Is(err, errZstd):
		return fail(http.StatusBadRequest, dialect.InvalidRequest, "the request body is not valid zstd, which its content-encoding says it is")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &upstream.Failure{
			Status: http.StatusRequestTimeout, Kind: dialect.Timeout, RetryAfter: time.Second,
			Message: "the request body arrived too slowly (server.timeouts.read_idle_ms): check the network and try again",
		}
	}
	return fail(http.StatusBadRequest, dialect.InvalidRequest, "the request body ended early or is not well-formed")
}

// lingerTime is how long a client whose body was not read may continue to send before its connection is closed. Closing at
// once, while bytes are arriving, would reset the connection, and the client might lose the response.
const lingerTime = 2 * time.Second

// leaveUnread makes the response go out at once although the request's body was not read to its end, and the connection close
// after it. Otherwise net/http would first continue to read, for as long as the client sends.
func leaveUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTime)) // fails only for a writer without a connection
}

const (
	paceGrace = 30 * time.Second // before a body has to keep the pace
	byteTime  = time.Millisecond // the longest average time of a byte: 1 kB/s
	headLimit = 64 << 10         // the bytes of a body that must contain its model (AUTH-2c)
	headStart = 4 << 10          // how many of them are read first
)

// pacedReader sets a deadline for each read of a body: a client must not be silent for longer than idle, nor, after paceGrace,
// send fewer bytes than one in byteTime on average.
type pacedReader struct {
	body    io.Reader
	control *http.ResponseController
	idle    time.Duration
	began   time.Time
	read    int64
}

func (r *pacedReader) Read(p []byte) (int, error) {
	deadline := r.began.Add(max(paceGrace, time.Duration(r.read)*byteTime))
	if idle := time.Now().Add(r.idle); idle.Before(deadline) {
		deadline = idle
	}
	r.control.SetReadDeadline(deadline)
	n, err := r.body.Read(p)
	r.read += int64(n)
	return n, err
}

// leadingModel reads the beginning of a body until it contains the model. The model is empty if it is not within headLimit
// bytes; the error is io.EOF if the head is the whole body.
func leadingModel(d dialect.Inbound, body io.Reader) (head []byte, model string, err error) {
	head = make([]byte, 0, headStart)
	searched := 0 // bytes of head; searching again only once there are twice as many keeps this linear
	for err == nil && len(head) < headLimit {
		if len(head) == cap(head) {
			head = slices.Grow(head, min(len(head), headLimit-len(head)))
		}
		var n int
		n, err = body.Read(head[len(head):min(cap(head), headLimit)])
		head = head[:len(head)+n]
		if len(head) < 2*searched && err == nil && len(head) < headLimit {
			continue
		}
		searched = len(head)
		if model, ok := d.LeadingModel(head); ok {
			return head, model, nil
		}
	}
	return head, "", err
}
