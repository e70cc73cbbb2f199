package responses

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
	r.begin(dst)
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
	r.begin(dst)
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
	output, found := wire.Member(r.body, "output")
	if !found || textOf(r.body, "status") == "failed" {
		if e, ok := (Dialect{}).ParseError(r.body); ok {
			r.fail(&e)
		}
		return
	}
	r.dst = append(r.dst, dialect.Event{Kind: dialect.Started, ID: textOf(r.body, "id")})
	index := 0
	for item := range elements(output.Of(r.body)) {
		r.item(index, item)
		index++
	}
	r.finish(r.body)
}
