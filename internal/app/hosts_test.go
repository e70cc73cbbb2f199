package app_test

import (
	"context"
	"errors"
	"net"
	"net/http"

	"shunt/internal/sim"
)

// serve has a handler answer at an address, such as "other.example:80", that has been the provider's.
func (w *world) serve(address string, h http.Handler) {
	w.servers = append(w.servers, sim.Serve(w.listen(address), h))
}

// unplug has nobody answer at an address: connections to it are refused.
func (w *world) unplug(address string) { w.must(w.listen(address).Close()) }

func (w *world) listen(address string) *sim.PipeListener {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hosts == nil {
		w.hosts = map[string]*sim.PipeListener{}
	}
	w.hosts[address] = sim.Listen(address)
	return w.hosts[address]
}

// connect is how shunt dials.
func (w *world) connect(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	l, ok := w.hosts[address]
	w.mu.Unlock()
	if !ok {
		l = w.upstream
	}
	return l.Dial(ctx, network, address)
}

func (w *world) closeHosts() {
	for _, s := range w.servers {
		if err := s.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			w.Error(err)
		}
	}
}
