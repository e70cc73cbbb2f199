//go:build !race

package relay_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/relay"
)

// WIRE-13, WIRE-12b: an event of a stream costs no allocation, however many there are.
func TestAllocationsOfEvents(t *testing.T) {
	for _, model := range []string{"", "claude-x[1m]"} {
		cost := func(events int) float64 {
			w := &discard{header: http.Header{}}
			return testing.AllocsPerRun(20, func() {
				stream := &eventByEvent{left: events}
				result := relay.Relay(w, eventStream(stream), relay.Options{Dialect: messages.Dialect{}, Hold: true, KeepAlive: 1e9, Idle: time.Minute, Model: model})
				if result.Truncated || result.ClientErr != nil {
					t.Fatalf("%+v", result)
				}
			})
		}
		if few, many := cost(10), cost(10_000); many > few {
			t.Errorf("model %q: %v allocations for ten events, %v for ten thousand", model, few, many)
		}
	}
}

// eventByEvent gives a start, a number of events and an end, one a read.
type eventByEvent struct{ left int }

func (e *eventByEvent) Read(p []byte) (int, error) {
	e.left--
	switch {
	case e.left < 0:
		return 0, io.EOF
	case e.left == 0:
		return copy(p, final), nil
	}
	return copy(p, delta), nil
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) FlushError() error           { return nil }
