package chat

import (
	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// documentReader reads a response that is one JSON document, of at most [wire.MaxEvent] bytes.
type documentReader struct {
	reader
	body []byte
}

// Read implements [dialect.ResponseReader].
func (r *documentReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.prepare(dst)
	if len(r.body)+len(p) > wire.MaxEvent {
		r.body = nil
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the response is longer than 16 MiB"})
	}
	if !r.finished {
		r.body = append(r.body, p...)
	}
	return r.take()
}

// End implements [dialect.ResponseReader].
func (r *documentReader) End(dst []dialect.Event) []dialect.Event {
	r.prepare(dst)
	if !r.finished {
		r.read()
	}
	r.truncated()
	return r.take()
}

func (r *documentReader) read() {
	if !wire.Valid(r.body) {
		return
	}
	choices := member(r.body, "choices")
	if e, failed := failureIn(r.body); failed {
		r.fail(&e)
		return
	}
	if len(choices) == 0 || choices[0] != '[' {
		if e, ok := (Dialect{}).ParseError(r.body); ok {
			r.fail(&e)
		}
		return
	}
	r.start(textOf(r.body, "id"))
	for list := wire.ArrayAt(choices, 0); list.Next() && !r.finished; {
		r.choice(list.Value.Of(choices))
	}
	readUsage(&r.usage, member(r.body, "usage"))
	if !r.finished {
		r.finish()
	}
}
