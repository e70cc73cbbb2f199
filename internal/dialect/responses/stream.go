package responses

import (
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// The names of events that end a stream.
const (
	eventCompleted  = "response.completed"
	eventIncomplete = "response.incomplete"
	eventFailed     = "response.failed"
	eventError      = "error"
)

// maxAnnouncements is how many events that announce a response are passed over in search of the first other one (FAM-7).
const maxAnnouncements = 16

// FirstEvent implements [dialect.Passing] (FAM-7).
func (Dialect) FirstEvent(head []byte) (dialect.Opening, bool) {
	announced := 0
	for pos := 0; ; {
		e, found := wire.NextEvent(head, pos)
		o := dialect.Opening{Start: e.Start, End: e.End}
		if !found {
			return o, false
		}
		pos = e.End
		if !e.HasData {
			continue
		}
		name := e.Name
		if name == "" {
			name = typeOf(e.Data)
		}
		if announces(name) && announced < maxAnnouncements {
			announced++
			continue
		}
		if name == eventFailed || name == eventError {
			if failure, ok := failureIn(e.Data); ok && failsBeforeResponse(failure.Kind) {
				o.Failure = &failure
			}
		}
		return o, true
	}
}

// announces reports whether an event comes before the content of a response and says nothing about whether it fails.
func announces(name string) bool {
	switch name {
	case "ping", "response.created", "response.in_progress", "response.queued":
		return true
	}
	return strings.HasPrefix(name, "codex.")
}

// failsBeforeResponse reports whether a stream that begins with such an error counts as a failure, and not as a response.
func failsBeforeResponse(k dialect.ErrorKind) bool {
	switch k {
	case dialect.QuotaExhausted, dialect.RateLimit, dialect.Overloaded, dialect.ServerError:
		return true
	}
	return false
}

// failureIn returns the error in the data of an event that reports one: in its response, in a member error, or in the event itself.
func failureIn(data []byte) (dialect.Error, bool) {
	if response, ok := wire.Member(data, "response"); ok && data[response.Start] == '{' {
		if e, ok := (Dialect{}).ParseError(response.Of(data)); ok {
			return e, true
		}
	}
	if e, ok := wire.Member(data, "error"); ok && data[e.Start] == '{' {
		return parseErrorObject(e.Of(data))
	}
	return parseErrorObject(data)
}

func typeOf(data []byte) string {
	members := wire.OpenObject(data)
	for members.Next() {
		if members.Is("type") {
			return members.Decoded()
		}
	}
	return ""
}

// ResponseModel implements [dialect.Passing].
func (Dialect) ResponseModel(head []byte) (wire.Span, bool) {
	members := wire.OpenObject(head)
	for members.Next() {
		if members.Is("model") {
			_, ok := members.Text()
			return members.Value, ok
		}
	}
	return wire.Span{}, false
}

// EventModels implements [dialect.Passing]: the response is repeated in several events (RTE-3), and with it, in ChatGPT's, a
// header that names the model (GPT-11).
func (Dialect) EventModels(dst []wire.Span, e *wire.Event) []wire.Span {
	if e.DataSpan == (wire.Span{}) {
		return dst
	}
	data := e.Data
	add := func(at int, object []byte, name string) {
		if value, ok := wire.Member(object, name); ok && object[value.Start] == '"' {
			start := e.DataSpan.Start + at
			dst = append(dst, wire.Span{Start: start + value.Start, End: start + value.End})
		}
	}
	response, ok := wire.Member(data, "response")
	if !ok || data[response.Start] != '{' {
		return dst
	}
	add(response.Start, response.Of(data), "model")
	for _, holder := range [...]wire.Span{{Start: 0, End: len(data)}, response} {
		object := holder.Of(data)
		if headers, ok := wire.Member(object, "headers"); ok && object[headers.Start] == '{' {
			add(holder.Start+headers.Start, headers.Of(object), "openai-model")
		}
	}
	return dst
}

// NamesModelAgain implements [dialect.Passing].
func (Dialect) NamesModelAgain() bool { return true }
