package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"shunt/internal/wire"
	"unicode/utf8"
)

// Request is what routing needs of a request body.
type Request struct {
	// Model is the decoded top-level model, of 1 to [MaxModel] bytes. It is a copy: it may outlive a pooled body.
	Model string
	// ModelSpan covers the model's string literal, quotes included.
	ModelSpan wire.Span
	// Stream is whether the last top-level stream is true.
	Stream bool
	// AccountUUID covers the value of account_uuid within the string literal of metadata.user_id, in its escaped form
	// and whatever its type (WIRE-6). It is zero where there is nothing to replace.
	AccountUUID wire.Span
	// ToolModels are the decoded models of top-level tools that have one, such as an advisor, in their order: the first
	// four of at most [MaxModel] bytes (SEL-4b). Almost every request has none.
	ToolModels []string

	session       wire.Span // what metadata.user_id says of the session, in its escaped form
	sessionQuoted bool      // it is the inside of a literal within the literal
}

// MaxModel bounds the name of a model, in bytes (RTE-2).
const MaxModel = 256

const maxToolModels = 4

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
	errModelLong     = &InvalidRequest{"model: must not be longer than 256 bytes"}
	errModelLiteral  = &InvalidRequest{"model: is not a well-formed JSON string"}
)

// Scan reads a request body in one pass (RTE-2, WIRE-6, SES-1, SEL-4b). It allocates nothing but the names of models. The
// error is an [*InvalidRequest]. Beyond the top-level members, and those of tools, it tracks strings and nesting only;
// deeper faults are the upstream's to judge. Of keys that stand twice the last counts, except that a second model is an
// error: the gateway and the upstream might not pick the same one.
func Scan(body []byte) (Request, error) {
	var req Request
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
				return Request{}, errModelTwice
			}
			model, err := modelName(members.Raw())
			if err != nil {
				return Request{}, err
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
		return Request{}, errBodyNotObject
	case errors.Is(members.Err, wire.ErrTruncated):
		return Request{}, errBodyCut
	case members.Err != nil:
		return Request{}, errBodyMalformed
	case wire.SkipSpace(body, members.End()) != len(body):
		return Request{}, errBodyTrailing
	case req.Model == "":
		return Request{}, errModelMissing
	}
	req.readUserID(body, metadata)
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

// toolModels skips the value at i, as [wire.SkipValue] does, and collects the models of tools on the way if it is an array of them.
// Only a tool's own model counts: an input_schema may well have a property of that name.
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

// toolModel reads the tool at i: the value of its model, if it has one, and its end.
func toolModel(src []byte, i int) (model wire.Span, end int, ok bool) {
	members := wire.ObjectAt(src, i)
	for members.Next() {
		if members.Is("model") {
			model = members.Value
		}
	}
	return model, members.End(), members.Err == nil
}

const oldSession = "_session_" // what precedes the session in a user_id of the older form

// readUserID finds, in the text of metadata.user_id, account_uuid and session_id of the JSON object that this holds, or else
// the session behind the last "_session_".
func (req *Request) readUserID(body []byte, metadata wire.Span) {
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
			req.session = within(wire.Span{Start: i + len(oldSession), End: len(text)})
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
		req.session, req.sessionQuoted = within(session), true
	}
}

// maxSession bounds the id of a session, in bytes; it is only a key.
const maxSession = 256

// SessionID returns the session that the scanned body names, empty if it names none; of a longer id the first 256 bytes
// (SES-1).
func (req *Request) SessionID(body []byte) string {
	var buf, again [maxSession + utf8.UTFMax]byte
	id, _ := wire.Unescape(buf[:0], req.session.Of(body), maxSession)
	if req.sessionQuoted {
		id, _ = wire.Unescape(again[:0], id, maxSession)
	}
	return string(id[:min(len(id), maxSession)])
}
