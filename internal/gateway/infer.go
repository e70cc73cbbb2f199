package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shunt/internal/anthropic"
	"shunt/internal/observe"
	"shunt/internal/upstream"
)

// infer is the life of an inference request: admitted, read, routed, served, recorded.
func (g *Gateway) infer(w http.ResponseWriter, r *http.Request, s *running) {
	if limit := int64(g.fixed.MaxConcurrentRequests); g.inFlight.Add(1) > limit && limit > 0 {
		g.inFlight.Add(-1)
		f := fail(http.StatusServiceUnavailable, anthropic.TypeOverloaded, "too many requests in flight (server.max_concurrent_requests)")
		f.RetryAfter = time.Second
		g.refuse(w, r, f)
		return
	}
	defer g.inFlight.Add(-1)

	session := upstream.SessionOf(r.Header)
	record := &observe.Record{Time: time.Now(), RequestID: newRequestID(), Path: r.URL.Path}
	if session != 0 {
		record.Session, record.SessionHash = session.String(), uint64(session)
	}
	record.Client, _ = s.client(r.Header)
	outcome := g.serve(w, s, &upstream.Request{Client: s.withoutOurs(r), Path: r.URL.Path, Session: session, Record: record})
	if f := outcome.Failure; f != nil {
		record.Status, record.Error = f.Status, f.Message
		record.BytesOut = writeFailure(w, f, record.RequestID)
	}
	record.Duration = sinceMillis(record.Time)
	g.Record(record)
	unanswered := record.Status == 0 // net/http would make an empty 200 of it, for a client that has closed its half only
	if outcome.Broken && !unanswered {
		_ = http.NewResponseController(w).Flush() // what has come of the answer, before the connection breaks, too
	}
	if outcome.Broken || unanswered {
		panic(http.ErrAbortHandler)
	}
}

func (g *Gateway) serve(w http.ResponseWriter, s *running, r *upstream.Request) upstream.Outcome {
	server := &s.Config.Server
	stranger := server.Clients.Present && r.Record.Client == ""
	if stranger && s.closed { // whatever the request says
		return upstream.Outcome{Failure: s.needsToken()}
	}
	body, f := g.readBody(w, r.Client, s)
	if f != nil {
		return upstream.Outcome{Failure: f}
	}
	r.Body = body
	defer r.Release()
	r.Record.BytesIn = int64(len(body.Bytes()))

	scan, err := anthropic.Scan(body.Bytes())
	if err != nil {
		return upstream.Outcome{Failure: fail(http.StatusBadRequest, anthropic.TypeInvalidRequest, err.Error())}
	}
	if !utf8.ValidString(scan.Model) {
		return upstream.Outcome{Failure: fail(http.StatusBadRequest, anthropic.TypeInvalidRequest, "model is no valid UTF-8")}
	}
	r.Scan = scan
	r.Record.Model, r.Record.Stream = scan.Model, scan.Stream
	r.Times = upstream.Times{
		TTFB: server.Timeouts.UpstreamTTFB, TTFBNonstream: server.Timeouts.UpstreamTTFBNonstream, KeepAlive: server.SSEKeepalive,
	}
	targets := s.Config.Route(scan.Model)
	if targets[0].Model == "" {
		return upstream.Outcome{Failure: fail(http.StatusBadRequest, anthropic.TypeInvalidRequest, "model is empty but for its suffix")}
	}
	if stranger && s.spends(targets) {
		return upstream.Outcome{Failure: s.needsToken()}
	}
	if r.Path == countTokensPath {
		targets = targets[:1] // RTE-4
	}
	links := make([]upstream.Link, len(targets))
	for i, t := range targets {
		links[i] = upstream.Link{Name: t.Upstream, Upstream: s.Upstreams[t.Upstream], Model: t.Model}
	}
	return upstream.ServeChain(w, r, links)
}

// readBody reads a request's body whole, as fast as the client sends it.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request, s *running) (*upstream.Body, *upstream.Failure) {
	isCompressed := func(encoding string) bool { return encoding != "" && !strings.EqualFold(encoding, "identity") }
	if slices.ContainsFunc(r.Header["Content-Encoding"], isCompressed) {
		return nil, fail(http.StatusUnsupportedMediaType, anthropic.TypeInvalidRequest,
			"compressed request bodies cannot be routed: send the body without content-encoding")
	}
	limit := s.Config.Server.Limits.MaxRequestBytes
	control := http.NewResponseController(w)
	body, err := upstream.ReadBody(&idleReader{r.Body, control, s.Config.Server.Timeouts.ReadIdle}, r.ContentLength, limit)
	switch {
	case err == nil:
		control.SetReadDeadline(time.Time{})
		return body, nil
	case errors.Is(err, upstream.ErrTooLarge):
		w.Header().Set("Connection", "close")
		return nil, fail(http.StatusRequestEntityTooLarge, anthropic.TypeTooLarge,
			fmt.Sprintf("the request is larger than %d bytes (server.limits.max_request_bytes)", limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, fail(http.StatusRequestTimeout, anthropic.TypeTimeout, "the request body stopped coming (server.timeouts.read_idle_ms)")
	}
	w.Header().Set("Connection", "close")
	return nil, fail(http.StatusBadRequest, anthropic.TypeInvalidRequest, "the request body broke off")
}

// idleReader gives each read of a body a deadline of its own.
type idleReader struct {
	body    io.Reader
	control *http.ResponseController
	idle    time.Duration
}

func (r *idleReader) Read(p []byte) (int, error) {
	if r.idle > 0 {
		r.control.SetReadDeadline(time.Now().Add(r.idle))
	}
	return r.body.Read(p)
}

func formatSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
