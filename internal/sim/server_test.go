package sim_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
)

// Close cancels requests that hang and leaves no goroutine behind (goleak).
func TestCloseCancelsRequests(t *testing.T) {
	p := sim.New(oneAccount)
	p.Inject("", sim.Hang())
	arrived := make(chan struct{})
	server, err := sim.Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		p.ServeHTTP(w, r)
	}))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	ended := make(chan error)
	go func() {
		resp, err := (&http.Client{Transport: transport}).Post(server.URL+sim.MessagesPath, "application/json", strings.NewReader(plainBody))
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	<-arrived
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the request succeeded")
	}
	if got := p.Requests()[0]; got.Outcome != sim.Canceled {
		t.Errorf("after Close the request is %q", got.Outcome)
	}
}

// Close waits for the last request to end.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sim.Listen("provider.test:80")
		ended := false
		server := sim.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			time.Sleep(time.Second)
			ended = true
		}))
		transport := &http.Transport{DialContext: l.Dial}
		go func() {
			if resp, err := (&http.Client{Transport: transport}).Get(server.URL); err == nil {
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if !ended {
			t.Error("a request outlives its server")
		}
	})
}

// Close reports a listener that failed.
func TestCloseReportsListenerError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sim.Listen("provider.test:80")
		server := sim.Serve(l, sim.New(oneAccount))
		l.Close()
		synctest.Wait() // until the server has noticed
		if err := server.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("err = %v", err)
		}
	})
}

// Dial fails once the listener is closed or the context ends, and every connection has its own name.
func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sim.Listen("provider.test:80")
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := l.Dial(ctx, "tcp", "ignored:1")
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("a dial that is not accepted: %v", err)
		}

		names := map[string]bool{}
		for range 2 {
			go func() {
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(c, c.RemoteAddr().String())
				c.Close()
			}()
			c, err := l.Dial(t.Context(), "tcp", "ignored:1")
			if err != nil {
				t.Fatal(err)
			}
			name, err := io.ReadAll(c)
			if err != nil || string(name) != c.LocalAddr().String() || c.RemoteAddr().String() != "provider.test:80" {
				t.Errorf("the server sees %q, the client is %v at %v (%v)", name, c.LocalAddr(), c.RemoteAddr(), err)
			}
			names[string(name)] = true
			if l.Open() != 1 {
				t.Errorf("%d connections are open", l.Open())
			}
			c.Close()
			c.Close()
			if l.Open() != 0 {
				t.Errorf("%d connections are open after the only one was closed", l.Open())
			}
		}
		if len(names) != 2 || l.Dials() != 3 {
			t.Errorf("connections %v of %d dials", names, l.Dials())
		}

		l.Close()
		if _, err := l.Dial(t.Context(), "tcp", "ignored:1"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a dial after Close: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept after Close: %v", err)
		}
	})
}
