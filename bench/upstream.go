package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// upstream answers like the provider, as cheaply as it can. It runs in the process of the load, which tells it directly how
// to answer: what stands between need not pass anything on.
type upstream struct {
	server *http.Server
	addr   string
	url    string // its base
	answer atomic.Pointer[answer]
	dialed atomic.Int64 // connections that were ever opened to it
	open   atomic.Int64 // paced streams at present
	peak   atomic.Int64 // the most at once since it was last reset
}

// startUpstream answers at an address, by default as each request asks.
func startUpstream(addr string) (*upstream, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start the upstream: %w", err)
	}
	addr = listener.Addr().String()
	u := &upstream{addr: addr, url: "http://" + addr}
	u.answer.Store(&answer{asAsked: true})
	u.server = &http.Server{Handler: http.HandlerFunc(u.serve), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			u.dialed.Add(1)
		}
	}}
	go u.server.Serve(listener) //nolint // it ends with the process
	return u, nil
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/messages") {
		http.NotFound(w, r)
		return
	}
	a := *u.answer.Load()
	if a.asAsked || a.echo {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if a.echo {
			echo(w, r, body)
			return
		}
		var asked struct{ Stream bool }
		if err := json.Unmarshal(body, &asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.stream = asked.Stream
	} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	h := w.Header()
	h.Set("request-id", "req_bench")
	reset := strconv.FormatInt(time.Now().Add(3*time.Hour).Unix(), 10)
	for _, window := range [...]string{"5h", "7d"} {
		h.Set("anthropic-ratelimit-unified-"+window+"-utilization", "0.25")
		h.Set("anthropic-ratelimit-unified-"+window+"-reset", reset)
		h.Set("anthropic-ratelimit-unified-"+window+"-status", "allowed")
	}
	h.Set("anthropic-ratelimit-unified-status", "allowed")
	switch {
	case !a.stream:
		h.Set("content-type", "application/json")
		h.Set("content-length", strconv.Itoa(len(wholeMessage)))
		_, _ = io.WriteString(w, wholeMessage) // a client that left shows in the load's own count
	case a.pace == 0:
		h.Set("content-type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, shortStream)
	default:
		h.Set("content-type", "text/event-stream; charset=utf-8")
		u.stream(w, a)
	}
}

func (u *upstream) stream(w http.ResponseWriter, a answer) {
	now := u.open.Add(1)
	defer u.open.Add(-1)
	for peak := u.peak.Load(); now > peak && !u.peak.CompareAndSwap(peak, now); peak = u.peak.Load() {
	}
	tick := time.NewTicker(a.pace)
	defer tick.Stop()
	flush := http.NewResponseController(w).Flush
	part := streamHead
	for range a.events {
		if _, err := io.WriteString(w, part); err != nil || flush() != nil {
			return
		}
		part = textEvent
		<-tick.C
	}
	_, _ = io.WriteString(w, part+streamTail)
}

// seen is what an echo tells of a request as it reached the upstream.
type seen struct {
	Authorization string `json:"authorization"`
	Account       string `json:"account"` // the account_uuid in the body
}

func echo(w http.ResponseWriter, r *http.Request, body []byte) {
	s := seen{Authorization: r.Header.Get("authorization")}
	if _, after, ok := bytes.Cut(body, []byte(`\"account_uuid\":\"`)); ok {
		uuid, _, _ := bytes.Cut(after, []byte(`\"`))
		s.Account = string(uuid)
	}
	w.Header().Set("content-type", "application/json")
	_ = json.NewEncoder(w).Encode(s) // a client that left shows in the check
}
