package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"shunt/internal/dialect/messages"
)

// Answer is an answer of a [Provider] as a client received it, streamed or plain.
type Answer struct {
	ID, Model, StopReason string
	Thinking, Signature   string
	Text                  string
	Usage                 Tokens
	Pings                 int
}

// ErrCut is an answer that ended before its end, which Claude Code takes for a lost connection.
var ErrCut = errors.New("the answer ended before its end")

// Refusal is an error that was answered instead of a message: with a status, or as an event of a stream.
type Refusal struct {
	Status  int // 200 for an event of a stream
	Type    messages.ErrorType
	Message string
	Header  http.Header
}

func (e *Refusal) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Type, e.Message) }

// ReadAnswer reads a response to its end, whatever its content coding, and checks it as a strict client would: every
// event whole, known and in its place, and nothing after the last. The error is ErrCut, a *Refusal, or says what is
// malformed; what was read until then is returned along with it. The caller closes the body.
func ReadAnswer(resp *http.Response) (Answer, error) {
	body, err := decoder(resp.Header.Get("Content-Encoding"), connection{resp.Body})
	if err != nil {
		return Answer{}, fmt.Errorf("decode the answer: %w", cutShort(err))
	}
	defer body.Close()
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		r := streamReader{header: resp.Header}
		err := r.read(body)
		return r.answer, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer: %w", cutShort(err))
	}
	if resp.StatusCode != http.StatusOK {
		kind, text, _ := messages.ParseError(data)
		return Answer{}, &Refusal{resp.StatusCode, kind, text, resp.Header}
	}
	return plainAnswer(data)
}

// cutShort makes ErrCut of the errors with which a body or a decoder ends too early.
func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrCut, err)
	}
	return err
}

// connection makes ErrCut of the errors of a connection, so that they are told from those of a decoder.
type connection struct{ r io.Reader }

func (c connection) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrCut, err)
	}
	return n, err
}

func plainAnswer(data []byte) (Answer, error) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return Answer{}, fmt.Errorf("the answer is not JSON: %w", err)
	}
	a := Answer{ID: m.ID, Model: m.Model, Usage: m.Usage}
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
			return a, fmt.Errorf("a content block of type %q is incomplete or unknown", b.Type)
		}
	}
	return a, nil
}

// Verify checks that the answer is complete, unmixed and an answer to the request body that was sent, and that the
// prompt in it (messages, system, tools) reached the provider byte for byte. The model must be the one that was asked for.
func (a Answer) Verify(sent []byte) error {
	var p prompt
	if err := json.Unmarshal(sent, &p); err != nil {
		return fmt.Errorf("the request is not JSON: %w", err)
	}
	if a.Model != p.Model {
		return fmt.Errorf("the answer is by model %q, asked was %q", a.Model, p.Model)
	}
	digest := p.digest()
	if p.thinks() {
		if err := verify(a.Thinking, "thinking", digest); err != nil {
			return fmt.Errorf("the thinking is damaged: %w", err)
		}
		if a.Signature == "" {
			return errors.New("the thinking has no signature")
		}
	}
	if err := verify(a.Text, "text", digest); err != nil {
		return fmt.Errorf("the text is damaged: %w", err)
	}
	return nil
}
