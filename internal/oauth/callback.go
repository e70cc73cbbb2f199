package oauth

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// CallbackTimeout is how long a person has to allow a login in the browser (LOG-2).
const CallbackTimeout = 5 * time.Minute

const defaultCallbackPath = "/callback"

var errTimeout = fmt.Errorf("the browser did not respond within %.0f minutes", CallbackTimeout.Minutes())

// Callback waits on a listener for the browser to bring the code of one login (LOG-2).
type Callback struct {
	listener net.Listener
	path     string
}

// NewCallback returns a callback that listens on l and owns it. The browser runs on this machine, so l should listen on
// 127.0.0.1. An empty path is /callback; see [Vendor.CallbackPath].
func NewCallback(l net.Listener, path string) *Callback {
	return &Callback{l, cmp.Or(path, defaultCallbackPath)}
}

// Redirect returns the redirect URI to begin the login with.
func (c *Callback) Redirect() string { return "http://" + c.listener.Addr().String() + c.path }

// Wait waits for the code of the login, at most [CallbackTimeout]. A request that does not belong to the login gets status
// 400 and does not end the wait. The error is an [ErrDenied] if the person denied the login. When Wait returns, the
// listener is closed and the page for the person has been sent.
func (c *Callback) Wait(ctx context.Context, l *Login) (code, state string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CallbackTimeout, errTimeout)
	defer cancel()
	var conns sync.WaitGroup
	results := make(chan result, 1)
	server := &http.Server{
		Handler:           callbackHandler(l, c.path, results),
		ReadHeaderTimeout: 10 * time.Second,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				conns.Add(1)
			case http.StateClosed:
				conns.Done()
			}
		},
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(c.listener) }()
	var r result
	select {
	case r = <-results:
	case r.err = <-failed:
		failed <- r.err
	case <-ctx.Done():
		r.err = context.Cause(ctx)
	}
	_ = server.Close()
	<-failed
	_ = server.Close() // closes a connection that was accepted during the first call
	conns.Wait()
	return r.code, r.state, r.err
}

// result is the outcome of a login in the browser.
type result struct {
	code, state string
	err         error
}

func callbackHandler(l *Login, path string, results chan<- result) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		got, ok := parseCallback(l, r.URL.Query())
		switch {
		case r.Method == http.MethodHead || !ok:
			// A malicious page that the browser visits cannot end the wait, nor can a link from an earlier login.
			showPage(w, http.StatusBadRequest, "This does not belong to the login that shunt is waiting for.",
				"Go back to the terminal and open the address that it shows.")
			return
		case got.err != nil:
			showPage(w, http.StatusOK, "The login was denied.", "You can close this page and go back to the terminal.")
		default:
			showPage(w, http.StatusOK, "shunt has received the code.", "You can close this page and go back to the terminal.")
		}
		// The end of the wait closes the connection, so the page is sent first.
		_ = http.NewResponseController(w).Flush()
		select {
		case results <- got:
		default: // there is one already
		}
	})
	return mux
}

// parseCallback returns the outcome in the query of a redirect, if it belongs to the login.
func parseCallback(l *Login, query url.Values) (r result, ok bool) {
	r.code, r.state = query.Get("code"), query.Get("state")
	if !l.Owns(r.state) {
		return result{}, false
	}
	if refusal := query.Get("error"); refusal != "" {
		r.err = ErrDenied
		if refusal = plainWord(refusal); refusal != "" && refusal != "access_denied" {
			r.err = fmt.Errorf("%w (%s)", ErrDenied, refusal)
		}
		return r, true
	}
	return r, r.code != ""
}

// showPage sends a page of two sentences. Nothing from the request is in it.
func showPage(w http.ResponseWriter, status int, title, text string) {
	page := "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>shunt</title>" +
		"<h1>" + title + "</h1><p>" + text + "\n"
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(page))
}
