package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"shunt/internal/account"
	"shunt/internal/dialect"
	"shunt/internal/pool"
)

const modelsLimit = 4 << 20 // of a list, in bytes

// Models implements [Upstream]. It tries the pool's accounts in the scheduler's order until one gets a list. A failure does not
// affect the account.
func (p *Pool) Models(ctx context.Context, d dialect.Inbound, client http.Header) ([]dialect.Model, error) {
	selection := p.scheduler.Begin(pool.Criteria{Session: pool.SessionOf(d.Session(client))})
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
		var models []dialect.Model
		if models, err = p.modelsOf(ctx, candidate, account, client); err == nil {
			return models, nil
		}
	}
	return nil, fmt.Errorf("list models of %s: %w", p.name, err)
}

func (p *Pool) modelsOf(ctx context.Context, c pool.Candidate, a *account.Account, client http.Header) ([]dialect.Model, error) {
	token, err := a.Token(ctx)
	if err != nil {
		return nil, err
	}
	h := headerOf(appendFields(nil, client, Bearer(token), p.appendAccountOf(p.appendItems(nil, client), a)))
	sent := p.clock.Now()
	models, header, err := p.transport.models(ctx, p.family.Dialect, p.base, h)
	if header != nil {
		p.scheduler.Observe(c.Key, pool.Outcome{Sent: sent, Signal: p.family.ReadQuota(header)})
	}
	return models, err
}

// Models implements [Upstream]. It uses the upstream's key or the client's credential.
func (s *Single) Models(ctx context.Context, _ dialect.Inbound, client http.Header) ([]dialect.Model, error) {
	models, _, err := s.transport.models(ctx, s.family.Dialect, s.base, headerOf(appendFields(nil, client, s.credential, nil)))
	if err != nil {
		return nil, fmt.Errorf("list models of %s: %w", s.name, err)
	}
	return models, nil
}

// ownRequestHeaders are headers of the client's that apply to its own request and its response only.
var ownRequestHeaders = [...]string{"Content-Type", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range"}

// models fetches a list of models. It also returns the header of the response, nil if there was none.
func (t *Transport) models(ctx context.Context, d dialect.Outbound, base *url.URL, h http.Header) (models []dialect.Model, header http.Header, err error) {
	h["Accept-Encoding"] = []string{"identity"}
	for _, name := range ownRequestHeaders {
		delete(h, name)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.ModelsURL(base, h).String(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header = h
	response, err := t.own.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, response.Header, fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, modelsLimit))
	if err == nil {
		models, err = d.ParseModels(body)
	}
	if err != nil {
		return nil, response.Header, fmt.Errorf("read the list: %w", err)
	}
	return models, response.Header, nil
}
