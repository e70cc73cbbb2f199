package usage

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"shunt/internal/quota"
	"shunt/internal/secret"
	"shunt/internal/wire"
)

const (
	timeout  = 10 * time.Second // from dialling to the end of the reply
	maxReply = 1 << 20          // what is longer is no report
)

func newClient(transport http.RoundTripper) http.Client {
	return http.Client{
		Transport: transport,
		Timeout:   timeout,
		// A redirect would carry the token to a place that nobody chose.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answerError is an answer that is no report.
type answerError struct {
	status        int
	retryAfter    time.Duration
	hasRetryAfter bool
}

func (e *answerError) Error() string {
	text := fmt.Sprintf("the usage endpoint answered %d", e.status)
	if e.status == http.StatusForbidden {
		text += " (a login without the scope user:profile may not ask; a new login has it)"
	}
	return text
}

// fetch polls once (QUO-21). No error quotes the token or the reply.
func (p *Poller) fetch(ctx context.Context, e Entry, token secret.String) (quota.Usage, error) {
	endpoint := e.Family.Usage
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Base.JoinPath(endpoint.Path).String(), nil)
	if err != nil {
		return quota.Usage{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token.Reveal())
	maps.Copy(request.Header, endpoint.Header)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "shunt")
	response, err := p.http.Do(request)
	if err != nil {
		return quota.Usage{}, err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	switch {
	case response.StatusCode != http.StatusOK:
		refusal := &answerError{status: response.StatusCode}
		refusal.retryAfter, refusal.hasRetryAfter = wire.RetryAfter(response.Header, p.clock.Now())
		return quota.Usage{}, refusal
	case err != nil:
		return quota.Usage{}, fmt.Errorf("read the reply of the usage endpoint: %w", err)
	}
	report, err := endpoint.Parse(reply)
	if err != nil {
		return quota.Usage{}, fmt.Errorf("read the reply of the usage endpoint: %w", err)
	}
	return report, nil
}
