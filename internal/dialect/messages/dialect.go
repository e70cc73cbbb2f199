package messages

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// Dialect is the Messages API, as clients speak it and as upstreams do.
type Dialect struct{}

var (
	_ dialect.Inbound  = Dialect{}
	_ dialect.Outbound = Dialect{}
)

// Name implements [dialect.Inbound] and [dialect.Outbound].
func (Dialect) Name() string { return "messages" }

// CountsTokens implements [dialect.Outbound].
func (Dialect) CountsTokens() bool { return true }

// Endpoints implements [dialect.Inbound].
func (Dialect) Endpoints() []dialect.Endpoint {
	return []dialect.Endpoint{{Path: "/v1/messages"}, {Path: "/v1/messages/count_tokens", CountsTokens: true, AppendCount: appendCount}}
}

func appendCount(dst []byte, tokens int64) []byte {
	return append(strconv.AppendInt(append(dst, `{"input_tokens":`...), tokens, 10), '}')
}

// Session implements [dialect.Inbound].
func (Dialect) Session(h http.Header) string { return h.Get("X-Claude-Code-Session-Id") }

// TokenAdvice implements [dialect.Inbound].
func (Dialect) TokenAdvice() string { return "set ANTHROPIC_AUTH_TOKEN to" }

// AppendErrorEvent implements [dialect.Inbound].
func (d Dialect) AppendErrorEvent(dst []byte, e *dialect.Error) []byte {
	return append(d.AppendError(append(dst, "event: error\ndata: "...), e, ""), "\n\n"...)
}

var ping = []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n")

// Ping implements [dialect.Inbound]: it returns the event that the API itself sends.
func (Dialect) Ping() []byte { return ping }

// AppendEdits implements [dialect.Passing].
func (Dialect) AppendEdits(dst []wire.Edit, r *dialect.Request, model, accountUUID string) []wire.Edit {
	if model != r.Model {
		dst = append(dst, wire.Edit{Span: r.ModelSpan, With: wire.Quote(model)})
	}
	if accountUUID != "" && r.AccountUUID != (wire.Span{}) {
		dst = append(dst, wire.Edit{Span: r.AccountUUID, With: quoteAccountUUID(accountUUID)})
	}
	return dst
}

// quoteAccountUUID returns an account's UUID in the form that replaces [dialect.Request.AccountUUID]: a string literal inside a
// string literal, and so with escaped quotes (WIRE-6).
func quoteAccountUUID(uuid string) []byte {
	var buf [64]byte
	inner := wire.AppendQuoted(buf[:0], uuid)
	outer := wire.AppendQuoted(make([]byte, 0, len(inner)+4), string(inner))
	return outer[1 : len(outer)-1]
}

const (
	versionHeader  = "Anthropic-Version"
	defaultVersion = "2023-06-01"
)

// ModelsURL implements [dialect.Outbound].
func (Dialect) ModelsURL(base *url.URL, h http.Header) *url.URL {
	if h.Get(versionHeader) == "" {
		h.Set(versionHeader, defaultVersion)
	}
	u := base.JoinPath("v1", "models")
	u.RawQuery = "limit=1000"
	return u
}

type modelJSON struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
}

type modelsJSON struct {
	Data    []modelJSON `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
}

// ListsModelsFor implements [dialect.Inbound].
func (Dialect) ListsModelsFor(h http.Header) bool { return h[versionHeader] != nil }

// ParseModels implements [dialect.Outbound].
func (Dialect) ParseModels(body []byte) ([]dialect.Model, error) {
	var list modelsJSON
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, errors.New("the response is not a list of models")
	}
	models := make([]dialect.Model, len(list.Data))
	for i, m := range list.Data {
		models[i] = dialect.Model{ID: m.ID, DisplayName: m.DisplayName}
	}
	return models, nil
}

// AppendModels implements [dialect.Inbound].
func (Dialect) AppendModels(dst []byte, models []dialect.Model) []byte {
	list := modelsJSON{Data: make([]modelJSON, len(models))}
	for i, m := range models {
		list.Data[i] = modelJSON{"model", m.ID, m.DisplayName}
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	body, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings only
	}
	return append(dst, body...)
}

// FirstEvent implements [dialect.Passing].
func (Dialect) FirstEvent(head []byte) (dialect.Opening, bool) {
	first, found := FirstEvent(head)
	e := dialect.Opening{Start: first.Start, End: first.End}
	if !found {
		return e, false
	}
	if first.Name == "error" {
		if t, message, ok := ParseError(first.Data); ok && failsBeforeResponse(t) {
			e.Failure = &dialect.Error{Kind: kindOfError(t), Code: string(t), Message: message}
		}
	}
	return e, true
}

// EventModels implements [dialect.Passing].
func (Dialect) EventModels(dst []wire.Span, e *wire.Event) []wire.Span {
	if e.DataSpan == (wire.Span{}) {
		return dst
	}
	if span, ok := startModel(e.Data); ok {
		dst = append(dst, wire.Span{Start: e.DataSpan.Start + span.Start, End: e.DataSpan.Start + span.End})
	}
	return dst
}

// NamesModelAgain implements [dialect.Passing].
func (Dialect) NamesModelAgain() bool { return false }

// ResponseModel implements [dialect.Passing].
func (Dialect) ResponseModel(head []byte) (wire.Span, bool) { return modelOf(head) }

// NewMeter implements [dialect.Passing].
func (Dialect) NewMeter() dialect.Meter { return newResponseMeter() }

// NewStreamMeter implements [dialect.Passing].
func (Dialect) NewStreamMeter() dialect.StreamMeter { return new(streamMeter) }
