package sim

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// Server serves a handler on a listener.
type Server struct {
	URL string // "http://" and the listener's address, without a trailing slash

	http  *http.Server
	done  chan error
	conns sync.WaitGroup
	close func() error // once
}

// Start serves the handler, usually a [Provider], on a free port of 127.0.0.1.
func Start(h http.Handler) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start simulated provider: %w", err)
	}
	return Serve(l, h), nil
}

// Serve serves the handler on the listener and takes ownership of it.
func Serve(l net.Listener, h http.Handler) *Server {
	s := &Server{URL: "http://" + l.Addr().String(), done: make(chan error, 1)}
	s.close = sync.OnceValue(s.shutDown)
	s.http = &http.Server{
		Handler: h,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.conns.Done()
			}
		},
	}
	go func() { s.done <- s.http.Serve(l) }()
	return s
}

// Close closes every connection, cancels the requests and returns when all of them have ended. It returns the listener's error if
// that failed earlier. Further calls return the same.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutDown() error {
	closed := s.http.Close()
	err := <-s.done
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	// The first Close misses a connection that was being accepted at the time.
	err = errors.Join(err, closed, s.http.Close())
	s.conns.Wait()
	if err != nil {
		return fmt.Errorf("close simulated provider: %w", err)
	}
	return nil
}
