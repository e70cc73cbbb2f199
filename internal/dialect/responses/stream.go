package responses

import (
	"bytes"
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

// maxAnnouncements is how many events that announce a response, comments and pings are passed over in search of the first other
// event (FAM-7).
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
		name := e.Name
		if name == "" && e.HasData {
			name = typeOf(e.Data)
		}
		if (!e.HasData || announces(name)) && announced < maxAnnouncements {
			announced++
			continue
		}
		if name == eventFailed || name == eventError {
			if failure, ok := failureIn(e.Data); ok && failure.Kind.FailsBeforeResponse() {
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

// failureIn returns the error in the data of an event that reports one: in its response, in a member error, or in the event itself.
func failureIn(data []byte) (dialect.Error, bool) {
	if response, ok := wire.Member(data, "response"); ok && data[response.Start] == '{' {
		if e, ok := (Dialect{}).ParseError(response.Of(data)); ok {
			return e, true
		}
	}
	if e, ok := wire.Member(data, "error"); ok && data[e.Start] == '{' {
		return dialect.ParseOpenErrorObject(e.Of(data))
	}
	e, _ := dialect.ParseOpenErrorObject(data)
	if e.Code == eventError { // the type of the event, and not of an error
		e.Code = ""
	}
	return e, e.Code != "" || e.Message != ""
}

func typeOf(data []byte) string { return textOf(data, "type") }

// textOf returns the text of an object's member, or "".
func textOf(object []byte, name string) string {
	members := wire.OpenObject(object)
	for members.Next() {
		if members.Is(name) {
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

// EventModels implements [dialect.Passing]: the response is repeated in several events (RTE-3), and with it, in ChatGPT's, the
// headers that name its model, which some events have themselves (GPT-11).
func (Dialect) EventModels(dst []wire.Span, e *wire.Event) []wire.Span {
	if e.DataSpan == (wire.Span{}) {
		return dst
	}
	for data := wire.OpenObject(e.Data); data.Next(); {
		at := e.DataSpan.Start + data.Value.Start
		switch {
		case data.Is("headers"):
			dst = appendHeaderModels(dst, data.Raw(), at)
		case data.Is("response"):
			for response := wire.OpenObject(data.Raw()); response.Next(); {
				switch {
				case response.Is("headers"):
					dst = appendHeaderModels(dst, response.Raw(), at+response.Value.Start)
				case response.Is("model"):
					dst = appendLiteral(dst, response.Raw(), at+response.Value.Start)
				}
			}
		}
	}
	return dst
}

// appendHeaderModels appends the values of the headers that name a model, of which an object that starts at a position has one
// or a list. Codex compares their names in any letter case.
func appendHeaderModels(dst []wire.Span, object []byte, at int) []wire.Span {
	for headers := wire.OpenObject(object); headers.Next(); {
		name := object[headers.Key.Start+1 : headers.Key.End-1]
		if !bytes.EqualFold(name, []byte("openai-model")) && !bytes.EqualFold(name, []byte("x-openai-model")) {
			continue
		}
		value := headers.Raw()
		dst = appendLiteral(dst, value, at+headers.Value.Start)
		for list := wire.ArrayAt(value, 0); list.Next(); {
			dst = appendLiteral(dst, list.Value.Of(value), at+headers.Value.Start+list.Value.Start)
		}
	}
	return dst
}

// appendLiteral appends the place of a value that starts at a position, if it is a string.
func appendLiteral(dst []wire.Span, value []byte, at int) []wire.Span {
	if value[0] != '"' {
		return dst
	}
	return append(dst, wire.Span{Start: at, End: at + len(value)})
}

// NamesModelAgain implements [dialect.Passing].
func (Dialect) NamesModelAgain() bool { return true }
