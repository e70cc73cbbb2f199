// Package responses is the dialect of the Responses API, as Codex and the clients of that API speak it and as ChatGPT and the
// API accept it: the scan of a request body and the edits that change it, errors, event streams, token counts, and the
// translation to and from the neutral form.
//
// What concerns requests that pass through works on bytes in place and builds no document. Functions are safe for concurrent
// use; a value with a Write or Read method belongs to one goroutine.
package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// Dialect is the Responses API, as clients speak it and as upstreams do.
type Dialect struct{}

var (
	_ dialect.Inbound  = Dialect{}
	_ dialect.Outbound = Dialect{}
)

// Name implements [dialect.Inbound] and [dialect.Outbound].
func (Dialect) Name() string { return "responses" }

// Endpoints implements [dialect.Inbound]: clients append to base URLs of several forms (INB-5).
func (Dialect) Endpoints() []dialect.Endpoint {
	return []dialect.Endpoint{
		{Path: "/v1/responses", Zstd: true},
		{Path: "/responses", Zstd: true},
		{Path: "/backend-api/codex/responses", Zstd: true},
		{Path: "/codex/responses", Zstd: true},
	}
}

// Session implements [dialect.Inbound] (INB-6). Codex's sub-agents share session-id.
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
	return "set the variable that env_key of your client's provider names to"
}

// ping is an event, since a comment does not reset the timer with which Codex gives up a silent stream (GPT-12).
var ping = []byte("event: ping\ndata: {\"type\":\"ping\"}\n\n")

// Ping implements [dialect.Inbound].
func (Dialect) Ping() []byte { return ping }

// AppendEdits implements [dialect.Passing].
func (Dialect) AppendEdits(dst []wire.Edit, r *dialect.Request, model, _ string) []wire.Edit {
	if model != r.Model {
		dst = append(dst, wire.Edit{Span: r.ModelSpan, With: wire.Quote(model)})
	}
	return dst
}

// CountsTokens implements [dialect.Outbound].
func (Dialect) CountsTokens() bool { return false }

// ModelsURL implements [dialect.Outbound].
func (Dialect) ModelsURL(base *url.URL, _ http.Header) *url.URL { return base.JoinPath("models") }

// modelsJSON is a list of models: of the public API, or of ChatGPT.
type modelsJSON struct {
	Object string      `json:"object"`
	Data   []modelJSON `json:"data"`
	Models []struct {
		Slug        string `json:"slug"`
		DisplayName string `json:"display_name"`
	} `json:"models,omitempty"`
}

type modelJSON struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// ParseModels implements [dialect.Outbound].
func (Dialect) ParseModels(body []byte) ([]dialect.Model, error) {
	var list modelsJSON
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil && list.Models == nil {
		return nil, errors.New("the response is not a list of models")
	}
	models := make([]dialect.Model, 0, len(list.Data)+len(list.Models))
	for _, m := range list.Data {
		models = append(models, dialect.Model{ID: m.ID})
	}
	for _, m := range list.Models {
		models = append(models, dialect.Model{ID: m.Slug, DisplayName: m.DisplayName})
	}
	return models, nil
}

// ListsModelsFor implements [dialect.Inbound].
func (Dialect) ListsModelsFor(http.Header) bool { return false }

// AppendModels implements [dialect.Inbound].
func (Dialect) AppendModels(dst []byte, models []dialect.Model) []byte {
	return dialect.AppendOpenModels(dst, models)
}

// reasoningType is the type of a reasoning item, as clients write it.
var reasoningType = []byte(`"reasoning"`)

// CarriesReasoning implements [dialect.Passing].
func (Dialect) CarriesReasoning(body []byte) bool {
	if !bytes.Contains(body, reasoningType) {
		return false
	}
	found := false
	eachItem(body, func(item wire.Span) bool {
		found = isReasoning(item.Of(body))
		return !found
	})
	return found
}

func isReasoning(item []byte) bool {
	members := wire.OpenObject(item)
	for members.Next() {
		if members.Is("type") {
			return members.Decoded() == "reasoning"
		}
	}
	return false
}
