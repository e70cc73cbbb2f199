// Package enginetest runs a simulated provider, or any other handler, in a testing/synctest bubble and sends it requests.
package enginetest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"shunt/internal/sim"
)

// Client sends requests to a handler on an in-memory listener.
type Client struct {
	*testing.T
	HTTP *http.Client // does not follow redirects
	URL  string       // of the handler, without a trailing slash
}

// Run runs the test in a bubble with the handler that start returns, which is called inside the bubble.
func Run(t *testing.T, start func() http.Handler, test func(c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := sim.Listen("provider.test:80")
		transport := &http.Transport{DialContext: l.Dial, DisableCompression: true}
		server := sim.Serve(l, start())
		test(&Client{T: t, URL: "http://provider.test", HTTP: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}})
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Reply is a response read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	Err    error // why there is no response, or why reading it ended early
}

// Do sends a request with the headers, which come in pairs. Without a body its method is GET.
func (c *Client) Do(path, body string, header ...string) Reply {
	c.Helper()
	return c.DoContext(c.Context(), path, body, header...)
}

// DoContext is Do until the context ends.
func (c *Client) DoContext(ctx context.Context, path, body string, header ...string) Reply {
	c.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return Reply{Err: err}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return Reply{response.StatusCode, response.Header, string(data), err}
}

// Want fails the test unless the response has the status and its body contains the texts.
func (r Reply) Want(t testing.TB, status int, texts ...string) {
	t.Helper()
	if r.Err != nil || r.Status != status {
		t.Errorf("got %d %s (%v), want status %d", r.Status, r.Body, r.Err, status)
	}
	for _, text := range texts {
		if !strings.Contains(r.Body, text) {
			t.Errorf("%s does not contain %s", r.Body, text)
		}
	}
}

// Names returns the names of the events in a stream of server-sent events; an event without a name is "data".
func (r Reply) Names() (names []string) {
	for event := range strings.SplitSeq(strings.TrimSuffix(r.Body, "\n\n"), "\n\n") {
		name, named := strings.CutPrefix(event, "event: ")
		if name, _, _ = strings.Cut(name, "\n"); !named {
			name = "data"
		}
		names = append(names, name)
	}
	return names
}

// Events returns the data of the events in a stream of server-sent events.
func (r Reply) Events(t testing.TB) (events []map[string]any) {
	t.Helper()
	for line := range strings.Lines(r.Body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Errorf("event %q: %v", data, err)
		}
		events = append(events, event)
	}
	return events
}

// JSON returns the body, which must be a JSON object.
func (r Reply) JSON(t testing.TB) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), &object); err != nil {
		t.Errorf("body %q: %v", r.Body, err)
	}
	return object
}
