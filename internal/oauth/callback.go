package oauth

import (
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

const callbackPath = "/callback"

var errNoAnswer = fmt.Errorf("no answer came from the browser within %.0f minutes", CallbackTimeout.Minutes())

// Callback waits on a listener for the browser that brings the code of one login (LOG-2).
type Callback struct {
	listener net.Listener
	redirect string
}

// NewCallback returns the callback on a listener, which it owns from now on. The browser is on this machine, so the
// listener should be one of 127.0.0.1.
func NewCallback(l net.Listener) *Callback {
	return &Callback{l, "http://" + l.Addr().String() + callbackPath}
}

// Redirect is the redirect URI to begin the login with.
func (c *Callback) Redirect() string { return c.redirect }

// Wait waits for the answer to the login, at most [CallbackTimeout]. What is no answer to it gets status 400 and changes
// nothing. An [ErrDenied] means that the answer is no. When Wait returns, the listener is closed and the page that the
// person sees has been sent.
func (c *Callback) Wait(ctx context.Context, l *Login) (code, state string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CallbackTimeout, errNoAnswer)
	defer cancel()
	var conns sync.WaitGroup
	answers := make(chan answer, 1)
	server := &http.Server{
		Handler:           answerHandler(l, answers),
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
	var a answer
	select {
	case a = <-answers:
	case a.err = <-failed:
		failed <- a.err
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	_ = server.Close()
	<-failed
	_ = server.Close() // for a connection that was accepted during the first
	conns.Wait()
	return a.code, a.state, a.err
}

type answer struct {
	code, state string
	err         error
}

func answerHandler(l *Login, answers chan<- answer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		a, ok := readAnswer(l, r.URL.Query())
		switch {
		case r.Method == http.MethodHead || !ok:
			// A page that somebody lured the browser to cannot end the wait, nor a link of an earlier login.
			showPage(w, http.StatusBadRequest, "This is no answer to the login that shunt waits for.",
				"Go back to the terminal and open the address that it shows.")
			return
		case a.err != nil:
			showPage(w, http.StatusOK, "Nobody was logged in.", "You can close this page and go back to the terminal.")
		default:
			showPage(w, http.StatusOK, "shunt has its answer.", "You can close this page and go back to the terminal.")
		}
		// The page is on its way before the answer ends the wait, and with it the connection.
		_ = http.NewResponseController(w).Flush()
		select {
		case answers <- a:
		default: // it has one already
		}
	})
	return mux
}

// readAnswer is what the query of a redirect says, if it is an answer to the login.
func readAnswer(l *Login, query url.Values) (a answer, ok bool) {
	a.code, a.state = query.Get("code"), query.Get("state")
	if !l.Owns(a.state) {
		return answer{}, false
	}
	if refusal := query.Get("error"); refusal != "" {
		a.err = ErrDenied
		if refusal = plainWord(refusal); refusal != "" && refusal != "access_denied" {
			a.err = fmt.Errorf("%w (%s)", ErrDenied, refusal)
		}
		return a, true
	}
	return a, a.code != ""
}

// showPage sends a page of two sentences, which holds nothing of the request.
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
