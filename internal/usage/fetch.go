package usage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/quota"
	"shunt/internal/secret"
)

const (
	path     = "api/oauth/usage"
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

// fetch gets one report (QUO-21). No error quotes the token or the reply.
func (p *Poller) fetch(ctx context.Context, base *url.URL, token secret.String) (messages.UsageReport, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath(path).String(), nil)
	if err != nil {
		return messages.UsageReport{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token.Reveal())
	request.Header.Set("Anthropic-Beta", "oauth-2025-04-20")
	request.Header.Set("Anthropic-Version", "2023-06-01")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "shunt")
	response, err := p.http.Do(request)
	if err != nil {
		return messages.UsageReport{}, err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	switch {
	case response.StatusCode != http.StatusOK:
		refusal := &answerError{status: response.StatusCode}
		refusal.retryAfter, refusal.hasRetryAfter = messages.RetryAfter(response.Header, p.clock.Now())
		return messages.UsageReport{}, refusal
	case err != nil:
		return messages.UsageReport{}, fmt.Errorf("read the reply of the usage endpoint: %w", err)
	}
	report, err := messages.ParseUsage(reply)
	if err != nil {
		return messages.UsageReport{}, fmt.Errorf("read the reply of the usage endpoint: %w", err)
	}
	return report, nil
}

// reading is what a report says of quota (QUO-22).
func reading(report messages.UsageReport) quota.Usage {
	var u quota.Usage
	for from, to := range [...]quota.Window{
		messages.FiveHour: quota.FiveHour, messages.SevenDay: quota.SevenDay, messages.Fable: quota.Fable,
	} {
		w := report.Windows[from]
		u.Windows[to] = quota.WindowUsage{Utilization: w.Utilization, Has: w.HasUtilization, Reset: w.Reset}
	}
	return u
}
