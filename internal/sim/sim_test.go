package sim_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"shunt/internal/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a provider on an in-memory listener, inside the test's bubble.
type rig struct {
	*sim.Provider
	*testing.T
	client *http.Client
}

// Requests returns the provider's requests once all outcomes are recorded. The client may see a reset earlier than that.
func (r *rig) Requests() []sim.Request {
	synctest.Wait()
	return r.Provider.Requests()
}

// bubble runs the test in a synctest bubble with a provider.
func bubble(t *testing.T, config sim.Config, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := sim.Listen("provider.test:80")
		transport := &http.Transport{DialContext: l.Dial, DisableCompression: true}
		r := &rig{sim.New(config), t, &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
		server := sim.Serve(l, r.Provider)
		test(r)
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
}

// post sends a body with the account's token and more headers, which come in pairs.
func (r *rig) post(ctx context.Context, account, path, body string, header ...string) (*http.Response, error) {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://provider.test"+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("Anthropic-Beta", "oauth-2025-04-20")
	if account != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token(account))
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return r.client.Do(req)
}

// reply is a response read to its end.
type reply struct {
	*http.Response
	body string
	err  error // why reading ended early; nil for a whole body
}

func (r *rig) do(account, path, body string, header ...string) reply {
	r.Helper()
	resp, err := r.post(r.Context(), account, path, body, header...)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return reply{resp, string(data), err}
}

func (r reply) want(t *rig, status int, parts ...string) {
	t.Helper()
	if r.StatusCode != status {
		t.Errorf("status %d, want %d: %s", r.StatusCode, status, r.body)
	}
	for _, part := range parts {
		if !strings.Contains(r.body, part) {
			t.Errorf("%q is not in %s", part, r.body)
		}
	}
}

const plainBody = `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"hello"}],"max_tokens":1000}`

// bodyFor returns a request body for the model.
func bodyFor(model string) string { return strings.Replace(plainBody, "claude-sonnet-4-5", model, 1) }

var streamBody = strings.Replace(plainBody, `{`, `{"stream":true,`, 1)

var oneAccount = sim.Config{Accounts: []sim.Account{{Name: "a"}}}

// 6-wire: the response to a prompt is plain or a stream.
func TestResponses(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		plain := r.do("a", sim.MessagesPath, plainBody)
		plain.want(r, 200, `"type":"message"`, `"model":"claude-sonnet-4-5"`, `"end_turn"`, "[end ")
		stream := r.do("a", sim.MessagesPath+"?beta=true", streamBody)
		stream.want(r, 200, "event: message_start\n", "event: ping\n", "event: message_delta\n", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	})
}
