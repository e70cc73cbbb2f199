// Package responses is the Responses API (9-dialects).
package responses

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/wire"
)

// Dialect is the Responses API, as clients speak it and as upstreams do.
type Dialect struct{ messages.Dialect }

// Name implements [dialect.Inbound] and [dialect.Outbound].
func (Dialect) Name() string { return "responses" }

// Endpoints implements [dialect.Inbound].
func (Dialect) Endpoints() []dialect.Endpoint { return []dialect.Endpoint{{Path: "/v1/responses"}} }

// Session implements [dialect.Inbound].
func (Dialect) Session(h http.Header) string { return h.Get("Session-Id") }

// RendersExhaustion implements [dialect.Inbound].
func (Dialect) RendersExhaustion() bool { return true }

// RetryAfter implements [dialect.Inbound].
func (Dialect) RetryAfter(kind dialect.ErrorKind, wait time.Duration) time.Duration {
	if kind == dialect.QuotaExhausted {
		return 0
	}
	return min(wait, time.Minute)
}

// Status implements [dialect.Inbound].
func (Dialect) Status(e *dialect.Error) int {
	if e.Kind == dialect.NoAccount {
		return http.StatusBadRequest
	}
	return e.Status
}

// AppendReasoningCuts implements [dialect.Passing]. The stand-in knows one spelling.
func (Dialect) AppendReasoningCuts(dst []wire.Edit, body []byte) []wire.Edit {
	const item = `{"type":"reasoning","encrypted_content":"sealed"},`
	if at := bytes.Index(body, []byte(item)); at >= 0 {
		dst = append(dst, wire.Edit{Span: wire.Span{Start: at, End: at + len(item)}})
	}
	return dst
}

// FirstEvent implements [dialect.Passing].
func (Dialect) FirstEvent(head []byte) (dialect.Opening, bool) {
	var o dialect.Opening
	for {
		end := bytes.Index(head[o.Start:], []byte("\n\n"))
		if end < 0 {
			return o, false
		}
		o.End = o.Start + end + 2
		_, data, _ := bytes.Cut(head[o.Start:o.End], []byte("data: "))
		var event struct {
			Type     string          `json:"type"`
			Code     string          `json:"code"`
			Response json.RawMessage `json:"response"`
		}
		_ = json.Unmarshal(data, &event)
		switch event.Type {
		case "response.created", "response.in_progress", "codex.rate_limits":
			o.Start = o.End
			continue
		case "response.failed":
			if e, ok := (Dialect{}).ParseError(event.Response); ok {
				o.Failure = &e
			}
		case "error":
			o.Failure = &dialect.Error{Kind: dialect.ServerError, Code: event.Code}
		}
		return o, true
	}
}

// ParseError implements [dialect.Outbound].
func (Dialect) ParseError(body []byte) (dialect.Error, bool) {
	var response struct {
		Error *struct {
			Type, Code, Message string
			ResetsAt            int64   `json:"resets_at"`
			ResetsIn            float64 `json:"resets_in_seconds"`
		}
		Detail struct{ Code string }
	}
	_ = json.NewDecoder(bytes.NewReader(body)).Decode(&response)
	e := response.Error
	if e == nil {
		return dialect.Error{Kind: dialect.UnknownError, Code: response.Detail.Code}, response.Detail.Code != ""
	}
	parsed := dialect.Error{Kind: dialect.UnknownError, Code: e.Code, Message: e.Message, RetryAfter: time.Duration(e.ResetsIn * float64(time.Second))}
	if parsed.Code == "" {
		parsed.Code = e.Type
	}
	if e.ResetsAt > 0 {
		parsed.Resets = time.Unix(e.ResetsAt, 0)
	}
	return parsed, true
}
