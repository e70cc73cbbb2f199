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
)

// Dialect is chat completions, as clients request them and as upstreams send them.
type Dialect struct{}

var _ dialect.Outbound = Dialect{}

// Name implements [dialect.Inbound] and [dialect.Outbound].
func (Dialect) Name() string { return "chat" }

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
