package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// Response is a [Provider]'s response as a client received it, streamed or plain.
type Response struct {
	ID, Model, StopReason string
	Thinking, Signature   string
	Text                  string
	Usage                 Tokens
	Pings                 int
}

// ErrTruncated reports that a response ended early, which Claude Code treats as a lost connection.
var ErrTruncated = errors.New("response truncated")

// APIError is an error response, or an error event in a stream.
type APIError struct {
	Status  int // 200 for an error event
	Type    messages.ErrorType
	Message string
	Header  http.Header
}

func (e *APIError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Type, e.Message) }

// ReadResponse reads a response in any content coding to its end and checks it as a strict client would: every event must be
// complete, known and in its place, and nothing may follow the last one. It returns ErrTruncated, an *APIError, or an error that
// describes what is malformed, along with what it has read. The caller closes the body.
func ReadResponse(resp *http.Response) (Response, error) {
	body, err := engine.Decoder(resp.Header.Get("Content-Encoding"), connReader{resp.Body})
	if err != nil {
		return Response{}, fmt.Errorf("decode response: %w", asTruncated(err))
	}
	defer body.Close()
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		r := streamReader{header: resp.Header}
		err := r.read(body)
		return r.response, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return Response{}, fmt.Errorf("read response: %w", asTruncated(err))
	}
	if resp.StatusCode != http.StatusOK {
		kind, text, _ := messages.ParseError(data)
		return Response{}, &APIError{resp.StatusCode, kind, text, resp.Header}
	}
	return parseResponse(data)
}

// asTruncated wraps the errors of a body or decoder that ended early in ErrTruncated.
func asTruncated(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return err
}

// connReader wraps the errors of a connection in ErrTruncated, which distinguishes them from those of a decoder.
type connReader struct{ r io.Reader }

func (c connReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return n, err
}

func parseResponse(data []byte) (Response, error) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return Response{}, fmt.Errorf("the response is not JSON: %w", err)
	}
	a := Response{ID: m.ID, Model: m.Model, Usage: m.Usage}
	if m.StopReason != nil {
		a.StopReason = *m.StopReason
	}
	for _, b := range m.Content {
		switch {
		case b.Type == "text" && b.Text != nil:
			a.Text += *b.Text
		case b.Type == "thinking" && b.Thinking != nil && b.Signature != nil:
			a.Thinking, a.Signature = *b.Thinking, *b.Signature
		default:
			return a, fmt.Errorf("content block of type %q is incomplete or unknown", b.Type)
		}
	}
	return a, nil
}

// Verify returns an error unless the response is complete and belongs to the request body sent, and the prompt in that body
// (messages, system, tools) reached the provider byte for byte. The model must be the requested one.
func (a Response) Verify(sent []byte) error {
	var p prompt
	if err := json.Unmarshal(sent, &p); err != nil {
		return fmt.Errorf("the request is not JSON: %w", err)
	}
	if a.Model != p.Model {
		return fmt.Errorf("model is %q, requested was %q", a.Model, p.Model)
	}
	digest := p.digest()
	if p.thinking() {
		if err := script.Verify(a.Thinking, "thinking", digest); err != nil {
			return fmt.Errorf("thinking is damaged: %w", err)
		}
		if a.Signature == "" {
			return errors.New("thinking has no signature")
		}
	}
	if err := script.Verify(a.Text, "text", digest); err != nil {
		return fmt.Errorf("text is damaged: %w", err)
	}
	return nil
}
