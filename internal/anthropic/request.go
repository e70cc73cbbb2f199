package anthropic

import (
	"encoding/json"
	"errors"
)

// Request is what routing needs of a request body.
type Request struct {
	// Model is the decoded top-level model, never empty. It is a copy: it may outlive a pooled body.
	Model string
	// ModelSpan covers the model's string literal, quotes included.
	ModelSpan Span
	// Stream is whether the last top-level stream is true.
	Stream bool
	// AccountUUID covers the value of account_uuid within the string literal of metadata.user_id, in its escaped form
	// and whatever its type (WIRE-6). It is zero where there is nothing to replace.
	AccountUUID Span
}

// InvalidRequest says why a body cannot be routed. The message is for the client and quotes nothing of the body.
type InvalidRequest struct{ Message string }

func (e *InvalidRequest) Error() string { return e.Message }

var (
	errBodyNotObject = &InvalidRequest{"the request body must be a JSON object"}
	errBodyCut       = &InvalidRequest{"the request body ends inside its JSON object"}
	errBodyMalformed = &InvalidRequest{"the request body is not well-formed JSON"}
	errBodyTrailing  = &InvalidRequest{"the request body has something after its JSON object"}
	errModelMissing  = &InvalidRequest{"model: this field is required at the top level of the request body"}
	errModelTwice    = &InvalidRequest{"model: this field stands twice at the top level of the request body"}
	errModelType     = &InvalidRequest{"model: must be a string"}
	errModelEmpty    = &InvalidRequest{"model: must not be empty"}
	errModelLiteral  = &InvalidRequest{"model: is not a well-formed JSON string"}
)

// Scan reads a request body in one pass (RTE-2, WIRE-6). It allocates nothing but the model's name. The error is an
// [*InvalidRequest]. Beyond the top-level members it tracks strings and nesting only; deeper faults are the upstream's to
// judge. Of keys that stand twice the last counts, except that a second model is an error: the gateway and the upstream
// might not pick the same one.
func Scan(body []byte) (Request, error) {
	var req Request
	var metadata []byte
	var offset int
	members := openObject(body)
	for members.next() {
		switch {
		case members.is("model"):
			if req.Model != "" {
				return Request{}, errModelTwice
			}
			model, err := modelName(&members)
			if err != nil {
				return Request{}, err
			}
			req.Model, req.ModelSpan = model, members.value
		case members.is("stream"):
			req.Stream = string(members.raw()) == "true"
		case members.is("metadata"):
			metadata, offset = members.raw(), members.value.Start
		}
	}
	switch {
	case errors.Is(members.err, errNotObject):
		return Request{}, errBodyNotObject
	case errors.Is(members.err, errCut):
		return Request{}, errBodyCut
	case members.err != nil:
		return Request{}, errBodyMalformed
	case skipSpace(body, members.pos) != len(body):
		return Request{}, errBodyTrailing
	case req.Model == "":
		return Request{}, errModelMissing
	}
	if span, ok := accountUUID(metadata); ok {
		req.AccountUUID = Span{offset + span.Start, offset + span.End}
	}
	return req, nil
}

func modelName(members *object) (string, error) {
	inside, ok := members.text()
	if !ok {
		return "", errModelType
	}
	if len(inside) == 0 {
		return "", errModelEmpty
	}
	var buf [128]byte
	name, ok := unescape(buf[:0], inside)
	if !ok {
		return "", errModelLiteral
	}
	return string(name), nil
}

// accountUUID finds account_uuid in the JSON object that the text of metadata.user_id may hold.
func accountUUID(metadata []byte) (Span, bool) {
	inside, ok := member(metadata, "user_id")
	if !ok || inside.End-inside.Start < 2 || metadata[inside.Start] != '"' {
		return Span{}, false
	}
	inside.Start++
	inside.End--
	var buf [1024]byte
	text, ok := unescape(buf[:0], inside.of(metadata))
	if !ok || !json.Valid(text) {
		return Span{}, false
	}
	value, ok := member(text, "account_uuid")
	if !ok {
		return Span{}, false
	}
	start := rawOffset(inside.of(metadata), value.Start)
	end := rawOffset(inside.of(metadata), value.End)
	return Span{inside.Start + start, inside.Start + end}, true
}

// member finds the value of the last member of that name in a whole object.
func member(src []byte, name string) (value Span, found bool) {
	members := openObject(src)
	for members.next() {
		if members.is(name) {
			value, found = members.value, true
		}
	}
	return value, found && members.err == nil
}
