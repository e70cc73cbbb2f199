package sim

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// Server is a handler on a listener.
type Server struct {
	URL string // "http://" and the listener's address, no trailing slash

	http  *http.Server
	done  chan error
	conns sync.WaitGroup
	close func() error // once
}

// Start serves the handler, usually a [Provider], on a free port of 127.0.0.1.
func Start(h http.Handler) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the simulated provider: %w", err)
	}
	return Serve(l, h), nil
}

// Serve serves the handler on a listener, which it owns from now on.
func Serve(l net.Listener, h http.Handler) *Server {
	s := &Server{URL: "http://" + l.Addr().String(), done: make(chan error, 1)}
	s.close = sync.OnceValue(s.shut)
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

// Close breaks every connection, ends the requests on them, and returns when all of that is over. The error is that of
// the listener, if it failed before. Further calls return the same.
func (s *Server) Close() error { return s.close() }

func (s *Server) shut() error {
	closed := s.http.Close()
	err := <-s.done
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	// A connection that was accepted during the first Close is known only now.
	err = errors.Join(err, closed, s.http.Close())
	s.conns.Wait()
	if err != nil {
		return fmt.Errorf("close the simulated provider: %w", err)
	}
	return nil
}
