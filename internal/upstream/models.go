package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"shunt/internal/anthropic"
	"shunt/internal/pool"
)

// Model is one entry of an upstream's list of models.
type Model struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
}

const (
	modelsLimit   = 4 << 20 // of a list, in bytes
	modelsVersion = "2023-06-01"
)

// Models asks the provider what models it has, as one of the pool's accounts. One account is asked, once.
func (p *Pool) Models(ctx context.Context, client http.Header) ([]Model, error) {
	selection := p.scheduler.Begin(pool.Request{})
	defer selection.Release()
	candidate, ok := selection.NextAvailable()
	account := p.accounts[candidate.Name]
	if !ok || account == nil {
		return nil, fmt.Errorf("list models of %s: no account is available", p.name)
	}
	token, err := account.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("list models of %s: %w", p.name, err)
	}
	header := requestHeader(client, Bearer(token))
	addBeta(header, oauthBeta)
	sent := p.clock.Now()
	models, answered, err := p.transport.models(ctx, p.base, header)
	if answered != nil {
		p.scheduler.Observe(candidate.Key, pool.Outcome{Sent: sent, Signal: signal(anthropic.ParseRateLimit(answered))})
	}
	if err != nil {
		return nil, fmt.Errorf("list models of %s: %w", p.name, err)
	}
	return models, nil
}

// Models asks the upstream what models it has, with its key or the client's credential.
func (s *Single) Models(ctx context.Context, client http.Header) ([]Model, error) {
	models, _, err := s.transport.models(ctx, s.base, requestHeader(client, s.credential))
	if err != nil {
		return nil, fmt.Errorf("list models of %s: %w", s.name, err)
	}
	return models, nil
}

// models fetches a list of models. Answered is the header of the response, nil if there was none.
func (t *Transport) models(ctx context.Context, base *url.URL, h http.Header) (models []Model, answered http.Header, err error) {
	u := base.JoinPath("v1", "models")
	u.RawQuery = "limit=1000"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header = h
	h["Accept-Encoding"] = []string{"identity"}
	delete(h, "Content-Type")
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", modelsVersion)
	}
	response, err := t.kept.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if _, err := io.Copy(&body, io.LimitReader(response.Body, modelsLimit)); err != nil {
		return nil, response.Header, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, response.Header, fmt.Errorf("status %d", response.StatusCode)
	}
	var list struct {
		Data []Model `json:"data"`
	}
	if err := json.Unmarshal(body.Bytes(), &list); err != nil {
		return nil, response.Header, fmt.Errorf("the list is no list: %w", err)
	}
	return list.Data, response.Header, nil
}
