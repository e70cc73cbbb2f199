// Package chat is the dialect of chat completions, as most vendors and clients speak it: the scan of a request body and the edits
// that change it, errors, event streams, token counts, and the translation to and from the neutral form.
//
// What concerns requests that pass through works on bytes in place and builds no document. Functions are safe for concurrent
// use; a value with a Write or Read method belongs to one goroutine.
package chat

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// Dialect is chat completions, as clients request them and as upstreams send them.
type Dialect struct{}

var (
	_ dialect.Inbound  = Dialect{}
	_ dialect.Outbound = Dialect{}
)

// Name implements [dialect.Inbound] and [dialect.Outbound].
func (Dialect) Name() string { return "chat" }

// Endpoints implements [dialect.Inbound] (INB-5).
func (Dialect) Endpoints() []dialect.Endpoint {
	return []dialect.Endpoint{{Path: "/v1/chat/completions"}}
}

// Session implements [dialect.Inbound] (INB-6).
func (Dialect) Session(h http.Header) string { return dialect.SessionOf(h) }

// Scan implements [dialect.Inbound] (RTE-2, INB-6).
func (Dialect) Scan(body []byte) (dialect.Request, error) {
	var session wire.Span
	members := dialect.ScanBody(body)
	for members.Next() {
		if members.Is("prompt_cache_key") {
			session = members.ReadText()
		}
	}
	req, err := members.Request()
	if err != nil {
		return dialect.Request{}, err
	}
	req.Session = session
	return req, nil
}

// LeadingModel implements [dialect.Inbound].
func (Dialect) LeadingModel(head []byte) (model string, ok bool) { return dialect.LeadingModel(head) }

// TokenAdvice implements [dialect.Inbound].
func (Dialect) TokenAdvice() string {
	return "set the API key of your client (often OPENAI_API_KEY) to"
}

// ping is a comment, since clients take every event for a chunk (FAM-8).
var ping = []byte(": ping\n\n")

// Ping implements [dialect.Inbound].
func (Dialect) Ping() []byte { return ping }

// AppendEdits implements [dialect.Passing].
func (Dialect) AppendEdits(dst []wire.Edit, r *dialect.Request, model, _ string) []wire.Edit {
	if model != r.Model {
		dst = append(dst, wire.Edit{Span: r.ModelSpan, With: wire.Quote(model)})
	}
	return dst
}

// Reasoning of earlier turns is plain text in this dialect, which every account and family can read, so nothing is cut.

// AppendCuts implements [dialect.Passing] (RSP-3b).
func (Dialect) AppendCuts(dst []wire.Edit, _ []byte, _ dialect.Origin) (_ []wire.Edit, dropped int) {
	return dst, 0
}

// AppendReasoningCuts implements [dialect.Passing] (GPT-10b).
func (Dialect) AppendReasoningCuts(dst []wire.Edit, _ []byte) []wire.Edit { return dst }

// CarriesReasoning implements [dialect.Passing] (SEL-31): no reasoning is bound to an account.
func (Dialect) CarriesReasoning([]byte) bool { return false }

// CountsTokens implements [dialect.Outbound].
func (Dialect) CountsTokens() bool { return false }

// ModelsURL implements [dialect.Outbound].
func (Dialect) ModelsURL(base *url.URL, _ http.Header) *url.URL { return base.JoinPath("models") }

// ParseModels implements [dialect.Outbound]. Some vendors send the list without an object around it.
func (Dialect) ParseModels(body []byte) ([]dialect.Model, error) {
	type model struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var list struct {
		Data []model `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		list.Data = nil
		if json.Unmarshal(body, &list.Data) != nil {
			list.Data = nil
		}
	}
	if list.Data == nil {
		return nil, errors.New("the response is not a list of models")
	}
	models := make([]dialect.Model, len(list.Data))
	for i, m := range list.Data {
		models[i] = dialect.Model{ID: m.ID, DisplayName: m.Name}
	}
	return models, nil
}

// ListsModelsFor implements [dialect.Inbound]: the list has the form of the responses dialect's, which is the default (INB-5).
func (Dialect) ListsModelsFor(http.Header) bool { return false }

// AppendModels implements [dialect.Inbound].
func (Dialect) AppendModels(dst []byte, models []dialect.Model) []byte {
	return dialect.AppendOpenModels(dst, models)
}
