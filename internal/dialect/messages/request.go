package messages

import (
	"bytes"
	"encoding/json"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

const maxToolModels = 4

// Scan implements [dialect.Inbound] (RTE-2, WIRE-6, SES-1, SEL-4b).
func (Dialect) Scan(body []byte) (dialect.Request, error) {
	var metadata wire.Span
	var models []string
	members := dialect.ScanBody(body)
	for members.Next() {
		switch start := members.Value.Start; {
		case members.Is("tools"):
			var end int
			models, end = toolModels(body, start)
			members.ReadTo(end)
		case members.Is("metadata"):
			metadata = wire.Span{Start: start, End: wire.SkipValue(body, start)}
			members.ReadTo(metadata.End)
		}
	}
	req, err := members.Request()
	if err != nil {
		return dialect.Request{}, err
	}
	req.ToolModels = models
	readUserID(&req, body, metadata)
	return req, nil
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
				if name, err := dialect.ModelName(model.Of(src)); err == nil {
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
