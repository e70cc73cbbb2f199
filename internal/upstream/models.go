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
func (p *Pool) Models(ctx context.Context, d dialect.Inbound, client http.Header) (models []dialect.Model, err error) {
	err = p.withAccounts(ctx, pool.SessionOf(d.Session(client)), func(c pool.Candidate, a *account.Account) error {
		models, err = p.modelsOf(ctx, c, a, client)
		return err
	})
	return models, err
}

// anyVersion is the version of a program that knows every model.
const anyVersion = "999.0.0"

func (p *Pool) modelsOf(ctx context.Context, c pool.Candidate, a *account.Account, client http.Header) ([]dialect.Model, error) {
	token, err := a.Token(ctx)
	if err != nil {
		return nil, err
	}
	if p.family.ModelList != nil {
		list, err := p.clientModelsOf(ctx, p.family.ModelList.Query+"="+anyVersion, c, a)
		if err != nil {
			return nil, err
		}
		return p.family.Dialect.ParseModels(list)
	}
	h := headerOf(appendFields(nil, client, Bearer(token), p.appendAccountOf(p.appendItems(nil, client), a)))
	sent := p.clock.Now()
	models, header, err := p.transport.models(ctx, p.family.Dialect, p.base, h)
	if header != nil {
		p.scheduler.Observe(c.Key, pool.Outcome{Sent: sent, Signal: p.family.ReadQuota(header)})
	}
	return models, err
}

// ClientModels returns the list of models in the form of the provider's own program, as the provider sends it to an account of
// the pool (GPT-10). Query is that of the client's request.
func (p *Pool) ClientModels(ctx context.Context, query string) (list []byte, err error) {
	err = p.withAccounts(ctx, 0, func(c pool.Candidate, a *account.Account) error {
		list, err = p.clientModelsOf(ctx, query, c, a)
		return err
	})
	return list, err
}

func (p *Pool) clientModelsOf(ctx context.Context, query string, c pool.Candidate, a *account.Account) ([]byte, error) {
	token, err := a.Token(ctx)
	if err != nil {
		return nil, err
	}
	to := p.routeOf(ctx, a, token)
	at := to.base.JoinPath(p.family.ModelList.Path)
	at.RawQuery = query
	sent := p.clock.Now()
	own := to.appendOverride([]field{{"Accept", "application/json"}, {"User-Agent", "shunt"}}, p.family)
	list, header, err := p.transport.list(ctx, at, headerOf(appendFields(nil, nil, Bearer(token), p.appendAccountOf(own, a))))
	if header != nil {
		p.scheduler.Observe(c.Key, pool.Outcome{Sent: sent, Signal: p.family.ReadQuota(header)})
	}
	return list, err
}

// withAccounts calls get with the accounts in the scheduler's order until it succeeds. A failure does not affect the account.
func (p *Pool) withAccounts(ctx context.Context, session pool.Session, get func(pool.Candidate, *account.Account) error) error {
	selection := p.scheduler.Begin(pool.Criteria{Session: session})
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
		if err = get(candidate, account); err == nil {
			return nil
		}
	}
	return fmt.Errorf("list models of %s: %w", p.name, err)
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
	body, header, err := t.list(ctx, d.ModelsURL(base, h), h)
	if err == nil {
		if models, err = d.ParseModels(body); err != nil {
			err = fmt.Errorf("read the list: %w", err)
		}
	}
	return models, header, err
}

// list fetches a list. It also returns the header of the response, nil if there was none.
func (t *Transport) list(ctx context.Context, at *url.URL, h http.Header) (body []byte, header http.Header, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
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
	if body, err = io.ReadAll(io.LimitReader(response.Body, modelsLimit)); err != nil {
		return nil, response.Header, fmt.Errorf("read the list: %w", err)
	}
	return body, response.Header, nil
}
