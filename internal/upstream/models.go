package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"shunt/internal/account"
	"shunt/internal/dialect/messages"
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

// Models asks the provider what models it has, as the first of the pool's accounts that gets an answer, in the scheduler's
// order. A failure costs an account nothing.
func (p *Pool) Models(ctx context.Context, client http.Header) ([]Model, error) {
	selection := p.scheduler.Begin(pool.Request{Session: SessionOf(client)})
	defer selection.Release()
	err := errors.New("no account is available")
	for ctx.Err() == nil {
		candidate, ok := selection.Next(ctx)
		if !ok {
			break
		}
		account, ok := p.accounts[candidate.Name]
		if !ok {
			continue
		}
		var models []Model
		if models, err = p.modelsOf(ctx, candidate, account, client); err == nil {
			return models, nil
		}
	}
	return nil, fmt.Errorf("list models of %s: %w", p.name, err)
}

func (p *Pool) modelsOf(ctx context.Context, c pool.Candidate, a *account.Account, client http.Header) ([]Model, error) {
	token, err := a.Token(ctx)
	if err != nil {
		return nil, err
	}
	var set []field
	if beta, changed := betas(client, oauthBeta); changed {
		set = append(set, beta)
	}
	header := headerOf(appendFields(nil, client, Bearer(token), set))
	sent := p.clock.Now()
	models, answered, err := p.transport.models(ctx, p.base, header)
	if answered != nil {
		p.scheduler.Observe(c.Key, pool.Outcome{Sent: sent, Signal: signal(messages.ParseRateLimit(answered))})
	}
	return models, err
}

// Models asks the upstream what models it has, with its key or the client's credential.
func (s *Single) Models(ctx context.Context, client http.Header) ([]Model, error) {
	models, _, err := s.transport.models(ctx, s.base, headerOf(appendFields(nil, client, s.credential, nil)))
	if err != nil {
		return nil, fmt.Errorf("list models of %s: %w", s.name, err)
	}
	return models, nil
}

// aboutAnotherAnswer are headers of the client's that speak of its own request and of the answer that it expects.
var aboutAnotherAnswer = [...]string{"Content-Type", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range"}

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
	for _, name := range aboutAnotherAnswer {
		delete(h, name)
	}
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", modelsVersion)
	}
	response, err := t.own.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, response.Header, fmt.Errorf("status %d", response.StatusCode)
	}
	var list struct {
		Data []Model `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, modelsLimit)).Decode(&list); err != nil {
		return nil, response.Header, fmt.Errorf("read the list: %w", err)
	}
	return list.Data, response.Header, nil
}
