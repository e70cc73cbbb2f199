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

// upstream responds like the provider, as cheaply as possible. It runs in the process of the load, which sets the response
// directly: the programs in between need not forward anything.
type upstream struct {
	server   *http.Server
	addr     string
	url      string // its base
	response atomic.Pointer[response]
	dialed   atomic.Int64 // connections opened to it so far
	open     atomic.Int64 // paced streams now
	peak     atomic.Int64 // the most at the same time since it was last reset
}

// startUpstream serves an upstream at an address. By default it responds as each request says.
func startUpstream(addr string) (*upstream, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start the upstream: %w", err)
	}
	addr = listener.Addr().String()
	u := &upstream{addr: addr, url: "http://" + addr}
	u.response.Store(&response{asRequested: true})
	u.server = &http.Server{Handler: http.HandlerFunc(u.serve), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			u.dialed.Add(1)
		}
	}}
	go u.server.Serve(listener) //nolint // until the process exits
	return u, nil
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses") {
		serveResponses(w, r)
		return
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/messages") {
		http.NotFound(w, r)
		return
	}
	a := *u.response.Load()
	if a.asRequested || a.echo {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if a.echo {
			echo(w, r, body)
			return
		}
		var request struct{ Stream bool }
		if err := json.Unmarshal(body, &request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.stream = request.Stream
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
		_, _ = io.WriteString(w, wholeMessage) // the load notices a lost response
	case a.pace == 0:
		h.Set("content-type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, shortStream)
	default:
		h.Set("content-type", "text/event-stream; charset=utf-8")
		u.stream(w, a)
	}
}

// serveResponses responds as a Responses upstream.
func serveResponses(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	h := w.Header()
	h.Set("content-type", "text/event-stream; charset=utf-8")
	reset := strconv.FormatInt(time.Now().Add(3*time.Hour).Unix(), 10)
	for window, minutes := range map[string]string{"primary": "300", "secondary": "10080"} {
		h.Set("x-codex-"+window+"-used-percent", "25")
		h.Set("x-codex-"+window+"-window-minutes", minutes)
		h.Set("x-codex-"+window+"-reset-at", reset)
	}
	_, _ = io.WriteString(w, responsesStream) // the load notices a lost response
}

func (u *upstream) stream(w http.ResponseWriter, a response) {
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

// seen is what an echo contains about a request as the upstream received it.
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
	_ = json.NewEncoder(w).Encode(s) // the check notices a lost response
}
