package usage

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"shunt/internal/family"
	"shunt/internal/quota"
	"shunt/internal/secret"
	"shunt/internal/wire"
)

const (
	timeout     = 10 * time.Second // from dialing to the end of the response
	maxResponse = 1 << 20          // bytes that are read of a response
)

func newClient(transport http.RoundTripper) http.Client {
	return http.Client{
		Transport: transport,
		Timeout:   timeout,
		// Following a redirect would send the token to a place that nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// statusError is a response without a report.
type statusError struct {
	status        int
	scope         string // that a login needs
	retryAfter    time.Duration
	hasRetryAfter bool
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the usage endpoint responded %d", e.status)
	if e.status == http.StatusForbidden && e.scope != "" {
		text += " (reading usage requires the scope " + e.scope + "; a new login has it)"
	}
	return text
}

// fetch reads the usage endpoint once (QUO-21). No error quotes the token or the response.
func (p *Poller) fetch(ctx context.Context, e Entry, token secret.String) (quota.Usage, error) {
	endpoint := e.Family.Usage
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Base.JoinPath(endpoint.Path).String(), nil)
	if err != nil {
		return quota.Usage{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token.Reveal())
	if e.Family.AccountHeaders != nil {
		for _, f := range e.Family.AccountHeaders(nil, family.AccountInfo{ID: e.Account.ID(), DeviceID: e.Account.DeviceID()}) {
			request.Header[f.Name] = []string{f.Value}
		}
	}
	maps.Copy(request.Header, endpoint.Header)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "shunt")
	response, err := p.http.Do(request)
	if err != nil {
		return quota.Usage{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	var report quota.Usage
	switch {
	case response.StatusCode != http.StatusOK:
		failure := &statusError{status: response.StatusCode, scope: endpoint.Scope}
		failure.retryAfter, failure.hasRetryAfter = wire.RetryAfter(response.Header, p.clock.Now())
		return quota.Usage{}, failure
	case err == nil:
		report, err = endpoint.Parse(body)
	}
	if err != nil {
		return quota.Usage{}, fmt.Errorf("read the response of the usage endpoint: %w", err)
	}
	return report, nil
}
