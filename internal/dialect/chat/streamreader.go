package chat

import (
	"bytes"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// done is the data of a stream's last event.
const done = "[DONE]"

// streamReader reads a response that is a stream of events.
type streamReader struct {
	reader
	events wire.Events
}

// Read implements [dialect.ResponseReader].
func (r *streamReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.prepare(dst)
	for r.events.Feed(p); r.events.Next(); {
		r.event(r.events.Name, r.events.Data)
	}
	if r.events.Err != nil {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: r.events.Err.Error()})
	}
	return r.take()
}

// End implements [dialect.ResponseReader]. Some vendors do not send the last event: it is enough that the upstream has said why the
// response ends (DIA-8).
func (r *streamReader) End(dst []dialect.Event) []dialect.Event {
	r.prepare(dst)
	if r.events.End() {
		r.event(r.events.Name, r.events.Data)
	}
	if !r.finished && r.reason != "" {
		r.finish()
	}
	r.truncated()
	return r.take()
}

// event reads one event: a chunk of the response, an error, or the end. The usage may come after the reason why the response ends,
// so that only the last event ends it.
func (r *streamReader) event(name string, data []byte) {
	if r.finished {
		return
	}
	if string(bytes.TrimSpace(data)) == done {
		r.finish()
		return
	}
	if !wire.Valid(data) {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the upstream sent an event that is not JSON"})
		return
	}
	var id string
	var choices, usage []byte
	failed := name == "error"
	for members := wire.OpenObject(data); members.Next(); {
		switch {
		case members.Is("id"):
			if !r.started {
				id = members.Decoded()
			}
		case members.Is("choices"):
			choices = members.Raw()
		case members.Is("usage"):
			usage = members.Raw()
		case members.Is("error"):
			failed = failed || string(members.Raw()) != "null"
		case members.Is("object"):
			failed = failed || string(members.Raw()) == `"error"`
		}
	}
	if failed {
		e, ok := Dialect{}.ParseError(data)
		if !ok {
			e = dialect.Error{Kind: dialect.UnknownError}
		}
		r.fail(&e)
		return
	}
	for list := wire.ArrayAt(choices, 0); list.Next() && !r.finished; {
		r.start(id) // some vendors send a chunk without choices and without an ID first
		r.choice(list.Value.Of(choices))
	}
	readUsage(&r.usage, usage)
}
