package engine

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is a way in which a provider misbehaves, injected with [Base.Inject]. By default it hits every request for inference
// until it is cleared.
type Fault struct {
	name  string
	times int      // requests left to hit; 0 = every request
	paths []string // endpoints; none = inference
	model string

	delay      time.Duration // before anything happens
	lateReply  time.Duration // between a change that the provider makes and its response
	firstEvent time.Duration // between the headers of a stream and its first event
	retryAfter *string       // overrides the header
	encoding   string        // overrides the negotiated content coding
	prefix     []byte        // sent before a stream's events
	end        streamEnd
	events     int    // sent whole before end
	last       []byte // sent instead of the rest

	respond func(x *Exchange) // nil: respond as usual
}

// streamEnd is how a stream ends.
type streamEnd uint8

const (
	whole    streamEnd = iota
	aborted            // the connection is reset inside an event
	stalled            // nothing more is sent
	replaced           // the response ends cleanly after other data, or none
)

// Times limits the fault to the next n requests.
func (f Fault) Times(n int) Fault { f.times = n; return f }

// On makes the fault hit the endpoints with the paths instead.
func (f Fault) On(paths ...string) Fault { f.paths = paths; return f }

// ForModel limits the fault to requests whose model contains the text.
func (f Fault) ForModel(part string) Fault { f.model = part; return f }

// Later delays the fault by d on the provider's clock.
func (f Fault) Later(d time.Duration) Fault { f.delay = d; return f }

// RetryAfter replaces the fault's retry-after header; an empty value removes it.
func (f Fault) RetryAfter(value string) Fault { f.retryAfter = &value; return f }

func (f Fault) hits(x *Exchange) bool {
	if len(f.paths) == 0 {
		return x.Inference && strings.Contains(x.Model, f.model)
	}
	return slices.Contains(f.paths, x.Path)
}

// Respond makes a function respond instead of the provider.
func Respond(name string, respond func(x *Exchange)) Fault {
	return Fault{name: name, respond: respond}
}

// Status responds with a JSON body.
func Status(status int, body any) Fault {
	return Respond(http.StatusText(status), func(x *Exchange) { x.JSON(status, body) })
}

// Page responds with an HTML page, as a firewall in front of a provider does.
func Page(status int, html string) Fault {
	return Respond("page", func(x *Exchange) { x.Send(status, "text/html; charset=UTF-8", []byte(html)) })
}

// ResetConnection resets the connection before any header is sent.
func ResetConnection() Fault { return Respond("reset", func(x *Exchange) { x.Reset() }) }

// Hang never responds; the request ends when the client goes away or the server closes.
func Hang() Fault { return Respond("hang", func(x *Exchange) { <-x.R.Context().Done() }) }

// SlowHeaders responds as usual, but d later.
func SlowHeaders(d time.Duration) Fault { return Fault{name: "slow headers", delay: d} }

// SlowReply changes what the request changes and responds d later, so that a client may lose the response but not the change.
// Only endpoints that change something obey it.
func SlowReply(d time.Duration) Fault { return Fault{name: "slow reply", lateReply: d} }

// SlowFirstEvent sends the headers of a stream as usual and its first event d later.
func SlowFirstEvent(d time.Duration) Fault { return Fault{name: "slow first event", firstEvent: d} }

// Preceded sends the event n times before those of a stream.
func Preceded(n int, e Event) Fault {
	return Fault{name: "preceded", prefix: bytes.Repeat(e.Raw, n)}
}

// Abort resets the connection of a stream inside the event after the first n. It does not affect plain responses.
func Abort(n int) Fault { return Fault{name: "aborted", end: aborted, events: n} }

// Stall sends the first n events of a stream and nothing more; the request ends when the client goes away.
func Stall(n int) Fault { return Fault{name: "stalled", end: stalled, events: n} }

// Truncate ends a stream cleanly after the first n events. It does not affect plain responses.
func Truncate(n int) Fault { return Fault{name: "truncated", end: replaced, events: n} }

// Replace sends the first n events of a stream, then the event, and ends the stream.
func Replace(n int, e Event) Fault {
	return Fault{name: "replaced", end: replaced, events: n, last: e.Raw}
}

// Encoded responds as usual, but in a content coding that the client may not accept.
func Encoded(coding string) Fault { return Fault{name: "encoded", encoding: coding} }
