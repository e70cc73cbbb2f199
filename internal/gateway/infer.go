package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/observe"
	"shunt/internal/upstream"
)

// infer handles an inference request from beginning to end: it is read, routed, served and recorded.
func (g *Gateway) infer(w http.ResponseWriter, r *http.Request, s *snapshot, d dialect.Inbound, e dialect.Endpoint) {
	record := &observe.Record{
		Time: time.Now(), RequestID: newRequestID(),
		Path: strings.Clone(r.URL.Path), // else the record would keep the whole request line
	}
	var known bool
	record.Client, known = s.client(r.Header)
	request := &upstream.Request{Client: s.stripGatewayTokens(r), Dialect: d, CountsTokens: e.CountsTokens, Path: r.URL.Path, Record: record}
	request.Identify()
	unauthenticated := s.Config.Server.Clients.Present && !known
	if unauthenticated && s.routes == closed { // whatever the body says (AUTH-2c)
		leaveUnread(w, r)
		g.finish(w, request, upstream.Outcome{Failure: s.needsToken(d)})
		return
	}
	slot, f := g.takeSlot(unauthenticated && s.routes == mixed, s.Config.Server.Clients.Header)
	if f != nil {
		g.refuse(w, r, f)
		return
	}
	defer slot.release()
	g.finish(w, request, g.serve(w, s, request, &slot, unauthenticated, e))
}

// finish writes a failure, if there is one, and records the request.
func (g *Gateway) finish(w http.ResponseWriter, r *upstream.Request, outcome upstream.Outcome) {
	record := r.Record
	if f := outcome.Failure; f != nil {
		record.Status, record.Error = f.Status, f.Message
		record.BytesOut = writeFailure(w, r.Dialect, f, record.RequestID)
	}
	record.Duration = sinceMillis(record.Time)
	record.Bound()
	g.Record(record)
	noResponse := record.Status == 0 // net/http would send an empty 200 to a client that has only closed its half
	if outcome.Aborted && !noResponse {
		_ = http.NewResponseController(w).Flush() // what there is of the response, before the connection is aborted
	}
	if outcome.Aborted || noResponse {
		panic(http.ErrAbortHandler)
	}
}

func (g *Gateway) serve(w http.ResponseWriter, s *snapshot, r *upstream.Request, slot *slot, unauthenticated bool, e dialect.Endpoint) upstream.Outcome {
	server := &s.Config.Server
	defaults, ok := s.defaults(r.Dialect)
	if !ok {
		leaveUnread(w, r.Client)
		return upstream.Outcome{Failure: fail(http.StatusNotFound, dialect.NotFound,
			"this gateway does not serve clients of this protocol: its operator has to set up "+config.OtherProtocols)}
	}
	if f := g.readBody(w, r, s, slot, defaults); f != nil {
		return upstream.Outcome{Failure: f}
	}
	defer r.Release()

	scan, err := r.Dialect.Scan(r.Body.Bytes())
	if err != nil {
		return upstream.Outcome{Failure: fail(http.StatusBadRequest, dialect.InvalidRequest, err.Error())}
	}
	if !utf8.ValidString(scan.Model) {
		return upstream.Outcome{Failure: fail(http.StatusBadRequest, dialect.InvalidRequest, "model is not valid UTF-8")}
	}
	r.Scan = scan
	r.Identify()
	r.Record.Model, r.Record.Stream = scan.Model, scan.Stream
	r.Times = upstream.Times{
		TTFB: server.Timeouts.UpstreamTTFB, TTFBNonstream: server.Timeouts.UpstreamTTFBNonstream,
		KeepAlive: server.SSEKeepalive, Idle: server.Timeouts.UpstreamIdle,
		CommitAfter: server.CommitAfter, CommitNative: server.CommitAfter == 0,
	}
	targets := s.Config.Route(scan.Model, defaults)
	if targets[0].Model == "" {
		return upstream.Outcome{Failure: fail(http.StatusBadRequest, dialect.InvalidRequest, "model has a suffix but no name")}
	}
	if unauthenticated && s.spends(targets) {
		return upstream.Outcome{Failure: s.needsToken(r.Dialect)}
	}
	if r.CountsTokens {
		targets = targets[:1] // RTE-4
		if out := s.Upstreams[targets[0].Upstream].Dialect(); out.Name() != r.Dialect.Name() || !out.CountsTokens() {
			r.Record.Provider = targets[0].Upstream
			return countTokens(w, r, e)
		}
	}
	links := make([]upstream.Link, len(targets))
	for i, t := range targets {
		links[i] = upstream.Link{Name: t.Upstream, Upstream: s.Upstreams[t.Upstream], Model: t.Model}
	}
	outcome := upstream.ServeChain(w, r, links)
	if f := outcome.Failure; f != nil && f.Status == http.StatusNotFound {
		f.Message += s.knownModels()
	}
	return outcome
}

// knownModels returns the models that the configuration names, as the end of an error about one that no upstream has.
func (s *snapshot) knownModels() string {
	names := s.Config.ModelNames()
	if len(names) == 0 {
		return ""
	}
	return " (this gateway's configuration names " + strings.Join(names, ", ") + ")"
}

func formatSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
