package chat

import (
	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// FirstEvent implements [dialect.Passing]: the first event with data shows whether the response fails (FAM-7).
func (Dialect) FirstEvent(head []byte) (dialect.Opening, bool) {
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
		failure, failed := failureIn(e.Data)
		if failure.Kind == dialect.UnknownError { // vendors have codes of their own
			failure.Kind = dialect.ServerError
		}
		if failed && failure.Kind.FailsBeforeResponse() {
			o.Failure = &failure
		}
		return o, true
	}
}

// EventModels implements [dialect.Passing]: every chunk names the model (RTE-3).
func (Dialect) EventModels(dst []wire.Span, e *wire.Event) []wire.Span {
	if e.DataSpan == (wire.Span{}) {
		return dst
	}
	if model, ok := (Dialect{}).ResponseModel(e.Data); ok {
		dst = append(dst, wire.Span{Start: e.DataSpan.Start + model.Start, End: e.DataSpan.Start + model.End})
	}
	return dst
}

// NamesModelAgain implements [dialect.Passing].
func (Dialect) NamesModelAgain() bool { return true }

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
