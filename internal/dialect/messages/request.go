package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

const maxToolModels = 4

var (
	errBodyNotObject = &dialect.RequestError{Message: "the request body must be a JSON object"}
	errBodyTruncated = &dialect.RequestError{Message: "the request body ends inside its JSON object"}
	errBodyMalformed = &dialect.RequestError{Message: "the request body is not well-formed JSON"}
	errBodyTrailing  = &dialect.RequestError{Message: "the request body continues after its JSON object"}
	errModelMissing  = &dialect.RequestError{Message: "model: this field is required at the top level of the request body"}
	errModelTwice    = &dialect.RequestError{Message: "model: this field appears twice at the top level of the request body"}
	errModelType     = &dialect.RequestError{Message: "model: must be a string"}
	errModelEmpty    = &dialect.RequestError{Message: "model: must not be empty"}
	errModelLong     = &dialect.RequestError{Message: "model: must not be longer than 256 bytes"}
	errModelLiteral  = &dialect.RequestError{Message: "model: is not a well-formed JSON string"}
)

// Scan implements [dialect.Inbound] (RTE-2, WIRE-6, SES-1, SEL-4b). Below the top-level members and those of tools, it only
// tracks strings and nesting; the upstream detects errors there. If a key occurs twice, the last one counts, but a second
// model is an error: the gateway and the upstream might not use the same one.
func (Dialect) Scan(body []byte) (dialect.Request, error) {
	var req dialect.Request
	var metadata wire.Span
	members := wire.OpenObject(body)
	for members.NextKey() {
		if members.Is("tools") {
			var end int
			req.ToolModels, end = toolModels(body, members.Value.Start)
			members.SkipTo(end)
			continue
		}
		if !members.Skip() {
			break
		}
		switch {
		case members.Is("model"):
			if req.Model != "" {
				return dialect.Request{}, errModelTwice
			}
			model, err := modelName(members.Raw())
			if err != nil {
				return dialect.Request{}, err
			}
			req.Model, req.ModelSpan = model, members.Value
		case members.Is("stream"):
			req.Stream = string(members.Raw()) == "true"
		case members.Is("metadata"):
			metadata = members.Value
		}
	}
	switch {
	case errors.Is(members.Err, wire.ErrNotObject):
		return dialect.Request{}, errBodyNotObject
	case errors.Is(members.Err, wire.ErrTruncated):
		return dialect.Request{}, errBodyTruncated
	case members.Err != nil:
		return dialect.Request{}, errBodyMalformed
	case wire.SkipSpace(body, members.End()) != len(body):
		return dialect.Request{}, errBodyTrailing
	case req.Model == "":
		return dialect.Request{}, errModelMissing
	}
	readUserID(&req, body, metadata)
	return req, nil
}

// modelName decodes the value of a model.
func modelName(raw []byte) (string, error) {
	inside, ok := wire.InsideOf(raw)
	if !ok {
		return "", errModelType
	}
	if len(inside) == 0 {
		return "", errModelEmpty
	}
	var buf [dialect.MaxModel + utf8.UTFMax]byte
	name, ok := wire.Unescape(buf[:0], inside, dialect.MaxModel)
	if !ok {
		return "", errModelLiteral
	}
	if len(name) > dialect.MaxModel {
		return "", errModelLong
	}
	return string(name), nil
}

// toolModels skips the value at i, as [wire.SkipValue] does, and collects the models of tools if it is an array of tools. Only a
// tool's own model counts: an input_schema may have a property of that name.
func toolModels(src []byte, i int) (models []string, end int) {
	if i == len(src) || src[i] != '[' {
		return nil, wire.SkipValue(src, i)
	}
	for at := wire.SkipSpace(src, i+1); at < len(src) && src[at] != ']'; {
		if src[at] == '{' {
			model, end, ok := toolModel(src, at)
			if !ok {
				break
			}
			if model != (wire.Span{}) && len(models) < maxToolModels {
				if name, err := modelName(model.Of(src)); err == nil {
					models = append(models, name)
				}
			}
			at = end
		} else if end := wire.SkipValue(src, at); end > at {
			at = end
		} else {
			break
		}
		at = wire.SkipSpace(src, at)
		if at == len(src) {
			break
		}
		if src[at] == ']' {
			return models, at + 1
		}
		if src[at] != ',' {
			break
		}
		at = wire.SkipSpace(src, at+1)
	}
	return nil, wire.SkipNested(src, i) // an array that is malformed, truncated or empty
}

// toolModel returns the model of the tool at i, if it has one, and the end of the tool.
func toolModel(src []byte, i int) (model wire.Span, end int, ok bool) {
	members := wire.ObjectAt(src, i)
	for members.Next() {
		if members.Is("model") {
			model = members.Value
		}
	}
	return model, members.End(), members.Err == nil
}

const oldSession = "_session_" // before the session in a user_id of the older form

// readUserID finds account_uuid and session_id in metadata.user_id, if that holds a JSON object, or else the session after the
// last "_session_".
func readUserID(req *dialect.Request, body []byte, metadata wire.Span) {
	span, ok := wire.Member(metadata.Of(body), "user_id")
	if !ok || body[metadata.Start+span.Start] != '"' {
		return
	}
	start := metadata.Start + span.Start + 1
	inside := body[start : metadata.Start+span.End-1]
	var buf [1024]byte
	text, ok := wire.Unescape(buf[:0], inside, wire.NoLimit)
	if !ok {
		return
	}
	within := func(s wire.Span) wire.Span {
		return wire.Span{Start: start + wire.RawOffset(inside, s.Start), End: start + wire.RawOffset(inside, s.End)}
	}
	members := wire.OpenObject(text)
	if members.Err != nil || !json.Valid(text) {
		if i := bytes.LastIndex(text, []byte(oldSession)); i >= 0 {
			req.Session = within(wire.Span{Start: i + len(oldSession), End: len(text)})
		}
		return
	}
	var account, session wire.Span
	for members.Next() {
		switch {
		case members.Is("account_uuid"):
			account = members.Value
		case members.Is("session_id"):
			session = wire.Span{}
			if _, isText := members.Text(); isText {
				session = wire.Span{Start: members.Value.Start + 1, End: members.Value.End - 1}
			}
		}
	}
	if account != (wire.Span{}) {
		req.AccountUUID = within(account)
	}
	if session != (wire.Span{}) {
		req.Session, req.SessionNested = within(session), true
	}
}
