package simtest

import (
	"io"
	"net/http"
	"time"

	"shunt/internal/sim"
)

// Events of a stream, for [Script].
const (
	StartEvent = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"" + PlainModel + "\",\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n"
	StopEvent  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	ErrorEvent = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	PingEvent  = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
)

// Faults lists faults, for tables.
func Faults(list ...sim.Fault) []sim.Fault { return list }

// Script responds once with a stream of the steps: a string is sent, a time.Duration passes.
func Script(steps ...any) sim.Fault {
	return sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(rw).Flush()
		for _, step := range steps {
			switch step := step.(type) {
			case time.Duration:
				select {
				case <-time.After(step):
				case <-r.Context().Done():
					return
				}
			case string:
				io.WriteString(rw, step)
				http.NewResponseController(rw).Flush()
			}
		}
	}).Times(1)
}

// Stall responds with a status and the beginning of a body that does not go on.
func Stall(status int) sim.Fault {
	return sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(status)
		io.WriteString(rw, `{"type":"error",`)
		http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	})
}
