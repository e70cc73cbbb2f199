package simtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"shunt/internal/sim"
)

// Models that clients of these tests request. The quota of a fable model has a scope of its own.
const (
	PlainModel = "claude-sonnet-4-5"
	FableModel = "claude-fable-5"
)

// Body returns a small request.
func Body(model string, stream bool) string {
	body := `{"model":"` + model + `","messages":[{"role":"user","content":"hi"}],"max_tokens":64,` +
		`"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"theirs\"}"}`
	if stream {
		body += `,"stream":true`
	}
	return body + "}"
}

// Minimal is the least header that the provider accepts, apart from a credential.
var Minimal = http.Header{"Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}

// With returns a copy of a header with more lines, given as name, value, name, value ...
func With(h http.Header, lines ...string) http.Header {
	h = h.Clone()
	for i := 0; i < len(lines); i += 2 {
		h[lines[i]] = append(h[lines[i]], lines[i+1])
	}
	return h
}

// Session returns [Minimal] with a session.
func Session(session string) http.Header { return With(Minimal, "X-Claude-Code-Session-Id", session) }

// Reply is a response as a client received it.
type Reply struct {
	Status   int // 0: there was none
	Header   http.Header
	Body     string
	Err      error         // of the request or of reading the response
	Account  string        // that the response names
	Took     time.Duration // from the request to the end of the response
	Response sim.Response  // only from the methods that check it
}

// NewReply returns a response with its body, or what could be read of it.
func NewReply(r *http.Response, body []byte, err error) Reply {
	return Reply{Status: r.StatusCode, Header: r.Header, Body: string(body), Err: err, Account: r.Header.Get("X-Shunt-Account")}
}

// Waited reports whether a time is that of a wait with its jitter: up to a fifth more (FO-6).
func Waited(took, wait time.Duration) bool { return took >= wait && took <= wait+wait/5 }

// Request sends a request in a session (empty: none) and checks its response: Err is set unless that is complete and belongs to
// the request.
func (w *World) Request(session, model string, stream bool) Reply {
	w.Helper()
	return w.Post(context.Background(), sim.MessagesPath, session, Body(model, stream))
}

// Begin is [World.Request] for a stream, on a goroutine of its own, until ctx ends.
func (w *World) Begin(ctx context.Context, session, model string) <-chan Reply {
	done := make(chan Reply, 1)
	go func() { done <- w.Post(ctx, sim.MessagesPath, session, Body(model, true)) }()
	return done
}

// MustServe is [World.Request] for a stream that has to succeed. It returns the account that served it.
func (w *World) MustServe(session, model string) (account string) {
	w.Helper()
	r := w.Request(session, model, true)
	if r.Status != http.StatusOK || r.Err != nil {
		w.Fatalf("status %d, %v: %s", r.Status, r.Err, r.Body)
	}
	return r.Account
}

// Post is [World.Request] for any endpoint and body. Only responses of the messages endpoint are checked.
func (w *World) Post(ctx context.Context, path, session, body string) Reply {
	w.Helper()
	return w.PostWith(ctx, w.Client, path, session, body)
}

// PostWith is [World.Post] with another client.
func (w *World) PostWith(ctx context.Context, client *http.Client, path, session, body string) Reply {
	w.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, GatewayURL+path, strings.NewReader(body))
	w.Must(err)
	request.Header = With(Minimal, "Authorization", "Bearer the-clients-own")
	if session != "" {
		request.Header.Set("X-Claude-Code-Session-Id", session)
	}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return Reply{Err: err}
	}
	defer response.Body.Close()
	var raw bytes.Buffer
	response.Body = io.NopCloser(io.TeeReader(response.Body, &raw))
	var checked sim.Response
	if path == sim.MessagesPath {
		checked, err = sim.ReadResponse(response)
		if err == nil && response.StatusCode == http.StatusOK {
			err = checked.Verify([]byte(body))
		}
	} else {
		_, err = io.Copy(io.Discard, response.Body)
	}
	r := NewReply(response, raw.Bytes(), err)
	r.Response, r.Took = checked, time.Since(began)
	if strings.Contains(r.Body, "sk-ant-") {
		w.Errorf("TOK-8: a token is in the response: %s", r.Body)
	}
	return r
}

// Send sends a request with this header and no other, and does not check its response.
func (w *World) Send(target string, header http.Header, body string) Reply {
	w.Helper()
	return w.SendUntil(context.Background(), target, header, body)
}

// SendUntil is [World.Send] until ctx ends.
func (w *World) SendUntil(ctx context.Context, target string, header http.Header, body string) Reply {
	w.Helper()
	began := time.Now()
	response, err := w.Client.Do(w.request(ctx, target, header, body))
	if err != nil {
		return Reply{Err: err}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	r := NewReply(response, data, err)
	r.Took = time.Since(began)
	return r
}

// Stream opens a stream and returns it when its header has arrived. The caller closes its body.
func (w *World) Stream(model string) *http.Response {
	w.Helper()
	response, err := w.Client.Do(w.request(w.Context(), sim.MessagesPath, Minimal, Body(model, true)))
	w.Must(err)
	return response
}

func (w *World) request(ctx context.Context, target string, header http.Header, body string) *http.Request {
	w.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, GatewayURL+target, strings.NewReader(body))
	w.Must(err)
	request.Header = header.Clone()
	if _, ok := header["User-Agent"]; !ok {
		request.Header["User-Agent"] = nil // net/http would add its own
	}
	return request
}
