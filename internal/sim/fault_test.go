package sim_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// 5-failover: the response of every fault that has one.
func TestFaultResponses(t *testing.T) {
	for _, c := range []struct {
		name       string
		fault      sim.Fault
		status     int
		limits     string // aggregate, 5h, 7d, 7d_oi
		retryAfter string
		body       string
	}{
		{"5h", sim.Rejected(messages.FiveHour), 429, "rejected rejected allowed allowed", "18000", "rate_limit_error"},
		{"7d", sim.Rejected(messages.SevenDay), 429, "rejected allowed rejected allowed", "604800", "rate_limit_error"},
		{"both", sim.Rejected(messages.FiveHour, messages.SevenDay), 429, "rejected rejected rejected allowed", "604800", "rate_limit_error"},
		{"fable", sim.Rejected(messages.Fable).RetryAfter("30"), 429, "rejected allowed allowed rejected", "30", "rate_limit_error"},
		{"aggregate", sim.RejectedAggregate().RetryAfter(""), 429, "rejected   ", "", "rate_limit_error"},
		{"throttled", sim.Throttled("3"), 429, "allowed allowed allowed allowed", "3", "rate_limit_error"},
		{"throttled, no time", sim.Throttled(""), 429, "allowed allowed allowed allowed", "", "rate_limit_error"},
		{"overloaded", sim.Overloaded(), 529, "allowed allowed allowed allowed", "3600", "overloaded_error"},
		{"500", sim.ServerError(500), 500, "   ", "", "api_error"},
		{"503", sim.ServerError(503).RetryAfter("7"), 503, "   ", "7", "api_error"},
		{"401", sim.Unauthorized(), 401, "   ", "", "authentication_error"},
		{"403 credential", sim.CredentialForbidden(), 403, "   ", "", "OAuth authentication is currently not allowed"},
		{"403 model", sim.ModelForbidden(), 403, "   ", "", "access to claude-sonnet-4-5"},
		{"other", sim.Failure(418, messages.TypeAPI, "short and stout"), 418, "   ", "", "short and stout"},
		{"error stream, plain", sim.ErrorStream(messages.TypeOverloaded), 529, "allowed allowed allowed allowed", "", "overloaded_error"},
		{"rate limit stream, plain", sim.ErrorStream(messages.TypeRateLimit), 429, "allowed allowed allowed allowed", "", "rate_limit_error"},
	} {
		bubble(t, oneAccount, func(r *rig) {
			r.Inject("a", c.fault.Times(1))
			got := r.do("a", sim.MessagesPath, plainBody)
			got.want(r, c.status, c.body)
			r.wantLimits(got, c.limits)
			if v := got.Header.Get("Retry-After"); v != c.retryAfter {
				r.Errorf("%s: retry-after %q, want %q", c.name, v, c.retryAfter)
			}
			if kind, _, ok := messages.ParseError([]byte(got.body)); !ok || !strings.Contains(got.body, got.Header.Get("Request-Id")) {
				r.Errorf("%s: not an error envelope with its request id (%s): %s", c.name, kind, got.body)
			}
			r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		})
	}
}

// Faults hit only the accounts, endpoints, models and number of requests that they are limited to, in the order of injection.
func TestFaultScope(t *testing.T) {
	config := sim.Config{Accounts: []sim.Account{{Name: "a"}, {Name: "b"}}}
	bubble(t, config, func(r *rig) {
		sequence := func(want ...int) {
			r.Helper()
			for i, status := range want {
				if got := r.do("a", sim.MessagesPath, plainBody).StatusCode; got != status {
					r.Errorf("request %d: %d, want %d", i+1, got, status)
				}
			}
		}
		r.Inject("a", sim.Throttled("1").Times(2))
		r.Inject("a", sim.ServerError(502))
		r.do("b", sim.MessagesPath, plainBody).want(r, 200)
		sequence(429, 429, 502, 502)
		r.Clear("a")
		sequence(200)

		r.Inject("a", sim.ServerError(500).Model("opus"))
		sequence(200)
		r.do("a", sim.MessagesPath, bodyFor("claude-opus-4-5")).want(r, 500)
		r.do("a", sim.CountTokensPath, bodyFor("claude-opus-4-5")).want(r, 500)
		r.Clear("a")

		r.Inject("", sim.Overloaded().Times(2).On(sim.UsagePath, sim.ModelsPath))
		sequence(200)
		r.do("b", sim.UsagePath, "").want(r, 529)
		r.do("", sim.ModelsPath, "").want(r, 529)
		r.do("", sim.ModelsPath, "").want(r, 401)

		r.Inject("a", sim.Throttled("1"))
		r.ExpireTokens("a")
		sequence(401)
		r.Inject("", sim.ServerError(503))
		sequence(503)
		r.Clear("")
		sequence(401)
	})
}

// TOK-5, TOK-7: faults of the token endpoint.
func TestRefreshFaults(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		token := credentials(r.T, r.Credentials("a")).OAuth.RefreshToken
		r.Inject("a", sim.InvalidGrant().Times(1))
		r.Inject("a", sim.ServerError(503).On(sim.TokenPath).Times(1))
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		r.refresh(token).want(r, 400, `"error":"invalid_grant"`)
		r.refresh(token).want(r, 503)

		r.Inject("a", sim.SlowRefresh(20*time.Second).Times(1))
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		if _, err := r.post(ctx, "", sim.TokenPath, refreshBody(token)); !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("a slow refresh: %v", err)
		}
		r.refresh(token).want(r, 400, "invalid_grant") // losing the response lost the login
		start := time.Now()
		r.Inject("a", sim.SlowRefresh(20*time.Second).Times(1))
		r.refresh(credentials(r.T, r.Login("a")).OAuth.RefreshToken).want(r, 200)
		if got := time.Since(start); got != 20*time.Second {
			r.Errorf("a slow refresh took %v", got)
		}
	})
}

// WIRE-11, FO-11: faults of a stream.
func TestStreamFaults(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		whole := r.do("a", sim.MessagesPath, streamBody)
		events := strings.SplitAfter(whole.body, "\n\n")

		r.Inject("a", sim.Abort(4).Times(1))
		got := r.do("a", sim.MessagesPath, streamBody)
		if got.err == nil || !strings.HasPrefix(whole.body, got.body) {
			r.Errorf("aborted: %v after %q", got.err, got.body)
		}
		if head := strings.Join(events[:4], ""); !strings.HasPrefix(got.body, head) || got.body == head || len(got.body) >= len(head)+len(events[4]) {
			r.Errorf("aborted at %d bytes, not inside the event after the first four", len(got.body))
		}

		r.Inject("a", sim.Truncate(4).Times(1))
		got = r.do("a", sim.MessagesPath, streamBody)
		if got.err != nil || got.body != strings.Join(events[:4], "") {
			r.Errorf("truncated: %v after %q", got.err, got.body)
		}

		r.Inject("a", sim.ErrorStream(messages.TypeOverloaded).Times(1))
		got = r.do("a", sim.MessagesPath, streamBody)
		got.want(r, 200, string(messages.Dialect{}.Ping())+"event: error\ndata: {", "overloaded_error")
		r.wantLimits(got, "allowed allowed allowed allowed")
		if got := got.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
			r.Errorf("content-type %q", got)
		}

		r.Inject("a", sim.SlowFirstEvent(time.Minute).Times(1))
		start := time.Now()
		resp, err := r.post(r.Context(), "a", sim.MessagesPath, streamBody)
		if err != nil {
			r.Fatal(err)
		}
		defer resp.Body.Close()
		if got := time.Since(start); got != 0 {
			r.Errorf("the headers took %v", got)
		}
		if response, err := sim.ReadResponse(resp); err != nil || response.Verify([]byte(streamBody)) != nil {
			r.Errorf("after a slow first event: %v", err)
		}
		if got := time.Since(start); got != time.Minute {
			r.Errorf("the first event took %v", got)
		}
	})
}

// Delays run on the provider's clock and end with the request.
func TestSlowAndSilent(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		start := time.Now()
		r.Inject("a", sim.SlowHeaders(90*time.Second).Times(1))
		r.Inject("a", sim.Throttled("1").After(time.Second).Times(1))
		r.Inject("a", sim.Hang().Times(1))
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		r.do("a", sim.MessagesPath, plainBody).want(r, 429)
		if got := time.Since(start); got != 91*time.Second {
			r.Errorf("took %v", got)
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
		defer cancel()
		if _, err := r.post(ctx, "a", sim.MessagesPath, plainBody); !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("a provider that hangs: %v", err)
		}
		synctest.Wait()
		last := r.Requests()[2]
		if last.Outcome != sim.Canceled || last.Status != 0 || last.Fault != "hang" {
			r.Errorf("recorded as %+v", last)
		}
	})
}

// FO-5: a stream ends at once when the client leaves, and what was generated by then is charged.
func TestClientLeaves(t *testing.T) {
	config := oneAccount
	config.Output = sim.Range{Min: 100, Max: 100}
	config.Pace = sim.Pace{Delta: time.Second, DeltaTokens: 2}
	bubble(t, config, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		resp, err := r.post(ctx, "a", sim.MessagesPath, streamBody)
		if err != nil {
			r.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := sim.ReadResponse(resp); !errors.Is(err, sim.ErrTruncated) || !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("err = %v", err)
		}
		synctest.Wait()
		if got := r.Requests()[0]; got.Outcome != sim.Canceled || got.Status != 200 {
			r.Errorf("recorded as %+v", got)
		}
		if got := r.Counters("a"); got.Canceled != 1 || got.Tokens.Output != 20 {
			r.Errorf("counted as %+v", got)
		}
	})
}

// A handler's response is recorded like any other.
func TestRespond(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		r.Inject("a", sim.Respond(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		}).Times(1))
		r.Inject("a", sim.Respond(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("from the handler"))
			if err := http.NewResponseController(w).Flush(); err != nil {
				r.Error(err)
			}
		}))
		r.do("a", sim.MessagesPath, plainBody).want(r, http.StatusTeapot)
		r.do("a", sim.MessagesPath, plainBody).want(r, 200, "from the handler")
		for i, status := range []int{http.StatusTeapot, 200} {
			if got := r.Requests()[i]; got.Status != status || got.Outcome != sim.Complete || got.Fault != "respond" {
				r.Errorf("recorded as %+v", got)
			}
		}
	})
}

func TestRedirect(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		r.Inject("a", sim.Redirect("http://elsewhere.test/"))
		got := r.do("a", sim.MessagesPath, plainBody)
		got.want(r, http.StatusTemporaryRedirect)
		if got := got.Header.Get("Location"); got != "http://elsewhere.test/" {
			r.Errorf("location %q", got)
		}
	})
}

// FO table, transport failure: the connection is reset before any header on a real socket, and closed in memory.
func TestResetConnection(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		r.Inject("a", sim.ResetConnection().Times(1))
		if _, err := r.post(r.Context(), "a", sim.MessagesPath, plainBody); err == nil {
			r.Error("the connection was not aborted")
		}
		if got := r.Requests()[0]; got.Outcome != sim.Aborted || got.Status != 0 {
			r.Errorf("recorded as %+v", got)
		}
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		if got := r.Counters("a"); got.Aborted != 1 || got.ByStatus[0] != 1 || got.ByStatus[200] != 1 {
			r.Errorf("counted as %+v", got)
		}
	})

	p := sim.New(oneAccount)
	server, err := sim.Start(p)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p.Inject("a", sim.ResetConnection())
	req, err := http.NewRequest(http.MethodPost, server.URL+sim.MessagesPath, strings.NewReader(plainBody))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Token("a"))
	req.Header.Set("Anthropic-Beta", "oauth-2025-04-20")
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext}
	defer transport.CloseIdleConnections()
	if _, err := transport.RoundTrip(req); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a reset connection: %v", err)
	}
}
