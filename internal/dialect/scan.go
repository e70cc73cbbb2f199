package dialect

import (
	"errors"
	"unicode/utf8"

	"shunt/internal/wire"
)

// What is wrong with a body.
var (
	ErrBodyNotObject = &RequestError{Message: "the request body must be a JSON object"}
	errBodyTruncated = &RequestError{Message: "the request body ends inside its JSON object"}
	ErrBodyMalformed = &RequestError{Message: "the request body is not well-formed JSON"}
	errBodyTrailing  = &RequestError{Message: "the request body continues after its JSON object"}
	ErrModelMissing  = &RequestError{Message: "model: this field is required at the top level of the request body"}
	errModelTwice    = &RequestError{Message: "model: this field appears twice at the top level of the request body"}
	errModelType     = &RequestError{Message: "model: must be a string"}
	errModelEmpty    = &RequestError{Message: "model: must not be empty"}
	errModelLong     = &RequestError{Message: "model: must not be longer than 256 bytes"}
	errModelLiteral  = &RequestError{Message: "model: is not a well-formed JSON string"}
)

// BodyScanner is what the scans of all dialects have in common (RTE-2): it reads the members model and stream of a body and
// stops at every other member at the top level. Below that, it only tracks strings and nesting; the upstream detects errors
// there. If a key occurs twice, the last one counts, but a second model is an error: the gateway and the upstream might not use
// the same one.
type BodyScanner struct {
	wire.Object
	body   []byte
	req    Request
	err    error
	unread bool // the value of the current member
}

// ScanBody returns a scanner at the beginning of a body.
func ScanBody(body []byte) BodyScanner { return BodyScanner{Object: wire.OpenObject(body), body: body} }

// Next stops at the next member, before its value, which starts at Value.Start.
func (s *BodyScanner) Next() bool {
	if s.unread && !s.Skip() {
		return false
	}
	s.unread = false
	for s.err == nil && s.NextKey() {
		isModel := s.Is("model")
		if !isModel && !s.Is("stream") {
			s.unread = true
			return true
		}
		if !s.Skip() {
			return false
		}
		if isModel {
			s.readModel()
		} else {
			s.req.Stream = string(s.Raw()) == "true"
		}
	}
	return false
}

func (s *BodyScanner) readModel() {
	if s.req.Model != "" {
		s.err = errModelTwice
		return
	}
	s.req.Model, s.err = ModelName(s.Raw())
	s.req.ModelSpan = s.Value
}

// ReadTo says that the caller has read the value of the current member, to where it ends.
func (s *BodyScanner) ReadTo(end int) {
	s.SkipTo(end)
	s.unread = false
}

// ReadText reads the value of the current member. It returns the text between the quotes, or the zero Span for anything but a
// string.
func (s *BodyScanner) ReadText() (inside wire.Span) {
	start := s.Value.Start
	end := wire.SkipValue(s.body, start)
	s.ReadTo(end)
	if end > start+1 && s.body[start] == '"' {
		return wire.Span{Start: start + 1, End: end - 1}
	}
	return wire.Span{}
}

// Request returns what the scan found. The error is a [*RequestError].
func (s *BodyScanner) Request() (Request, error) {
	switch {
	case s.err != nil:
		return Request{}, s.err
	case errors.Is(s.Err, wire.ErrNotObject):
		return Request{}, ErrBodyNotObject
	case errors.Is(s.Err, wire.ErrTruncated):
		return Request{}, errBodyTruncated
	case s.Err != nil:
		return Request{}, ErrBodyMalformed
	case wire.SkipSpace(s.body, s.End()) != len(s.body):
		return Request{}, errBodyTrailing
	case s.req.Model == "":
		return Request{}, ErrModelMissing
	}
	return s.req, nil
}

// ModelName decodes the value of a model. The error is a [*RequestError].
func ModelName(raw []byte) (string, error) {
	inside, ok := wire.InsideOf(raw)
	if !ok {
		return "", errModelType
	}
	if len(inside) == 0 {
		return "", errModelEmpty
	}
	var buf [MaxModel + utf8.UTFMax]byte
	name, ok := wire.Unescape(buf[:0], inside, MaxModel)
	if !ok {
		return "", errModelLiteral
	}
	if len(name) > MaxModel {
		return "", errModelLong
	}
	return string(name), nil
}

// LeadingModel returns the model of a request from the beginning of its body; see [Inbound.LeadingModel].
func LeadingModel(head []byte) (model string, ok bool) {
	members := wire.OpenObject(head)
	for members.Next() {
		if members.Is("model") {
			model = members.Decoded()
			return model, model != ""
		}
	}
	return "", false
}
