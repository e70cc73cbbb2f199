// Package gemini is the dialect of the Gemini API, as upstreams speak it (GEM-1). No client speaks it to shunt.
//
// Its functions keep no state. A reader belongs to the goroutine that relays the response.
package gemini

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"shunt/internal/dialect"
)

// Dialect is the Gemini API.
type Dialect struct{}

var _ dialect.Outbound = Dialect{}

// Name implements [dialect.Outbound].
func (Dialect) Name() string { return "gemini" }

// CountsTokens implements [dialect.Outbound].
func (Dialect) CountsTokens() bool { return false }

// modelsPath is where the models are, below the base URL.
const modelsPath = "/v1beta/models"

// ModelsURL implements [dialect.Outbound].
func (Dialect) ModelsURL(base *url.URL, _ http.Header) *url.URL {
	at := base.JoinPath(modelsPath)
	at.RawQuery = "pageSize=1000"
	return at
}

// ParseModels implements [dialect.Outbound].
func (Dialect) ParseModels(body []byte) ([]dialect.Model, error) {
	var list struct {
		Models []struct {
			Name        string `json:"name"`
			DisplayName string `json:"displayName"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &list) != nil || list.Models == nil {
		return nil, errors.New("the response is not a list of models")
	}
	models := make([]dialect.Model, len(list.Models))
	for i, m := range list.Models {
		models[i] = dialect.Model{ID: strings.TrimPrefix(m.Name, "models/"), DisplayName: m.DisplayName}
	}
	return models, nil
}

// content is a message of a conversation, and part a piece of one.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      string    `json:"text,omitempty"`
	Thought   bool      `json:"thought,omitempty"`
	Signature string    `json:"thoughtSignature,omitempty"`
	Inline    *blob     `json:"inlineData,omitempty"`
	File      *fileData `json:"fileData,omitempty"`
	Call      *function `json:"functionCall,omitempty"`
	Response  *response `json:"functionResponse,omitempty"`
}

type blob struct {
	MediaType string `json:"mimeType"`
	Data      string `json:"data"`
}

type fileData struct {
	MediaType string `json:"mimeType,omitempty"`
	URI       string `json:"fileUri"`
}

type function struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type response struct {
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}
