// Package render renders the steps of a script in the dialects of the simulated providers: [Messages], [Responses], [Chat] and
// [Gemini]. It writes every dialect on its own, independently of the gateway's readers and writers, so that the two check each
// other. Values are safe for concurrent use.
package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// bytesPerToken is the number of prompt bytes per token.
const bytesPerToken = 4

// Request is what a provider reads from a request body.
type Request struct {
	script.Prompt
	Model  string
	Stream bool
	// WantsUsage tells that a stream's client wants its usage, for dialects in which that is optional.
	WantsUsage bool
	// WantsSeals tells that the client wants the opaque token of the reasoning.
	WantsSeals bool
	// Seals are the opaque tokens of earlier reasoning in the prompt.
	Seals []string
	// Tokens is the size of the prompt.
	Tokens int64
}

// Usage counts the tokens of a response.
type Usage struct {
	Input         int64 // without the cached ones
	CacheCreation int64
	CacheRead     int64
	Output        int64 // with Reasoning
	Reasoning     int64
}

// Prompt returns the tokens of the whole prompt, cached or not.
func (u Usage) Prompt() int64 { return u.Input + u.CacheCreation + u.CacheRead }

// Reply is a response to be rendered.
type Reply struct {
	Request
	script.Step
	ID      string // hexadecimal; a dialect adds its prefix
	Created int64  // Unix seconds
	Usage   Usage
	Seal    string // the opaque token of the reasoning
	Pieces  func(text string) []string
	// Headers, if not nil, are repeated in the first event of a stream of Responses.
	Headers engine.Object
}

// Dialect reads requests for inference and renders their responses.
type Dialect interface {
	// Read returns the request in a body, or an error with the message for the client.
	Read(body []byte) (Request, error)
	// Events returns the response as a stream.
	Events(Reply) []engine.Event
	// Body returns the response as one JSON value.
	Body(Reply) any
	// Failure returns the status and the body of an error response.
	Failure(script.Failure) (status int, body any)
	// Refusal returns the body of an error response with a message of the provider's own.
	Refusal(status int, code, message string) any
}

// malformed is a provider's message about a request that it cannot read.
type malformed string

func (m malformed) Error() string { return string(m) }

// NewReply returns the reply of a provider to the request.
func NewReply(b *engine.Base, r Request, s script.Step) Reply {
	reply := Reply{
		Request: r, Step: s, ID: engine.Hex(engine.Rand(b.Seed, "reply", r.Digest, r.Model), 12), Created: b.Now().Unix(),
		Pieces: b.Pieces,
	}
	reply.Usage.CacheRead = min(s.Cached, r.Tokens)
	reply.Usage.Input = r.Tokens - reply.Usage.CacheRead
	reply.Count()
	return reply
}

// Count sets the output tokens of the reply's usage.
func (r *Reply) Count() {
	r.Usage.Reasoning = script.Tokens(r.Reasoning)
	r.Usage.Output = r.Usage.Reasoning + script.Tokens(r.Text) + script.Tokens(r.Refusal)
	for _, c := range r.Calls {
		r.Usage.Output += script.Tokens(c.Input)
	}
}

// Respond sends the reply as the request asked for it.
func Respond(x *engine.Exchange, d Dialect, r Reply) {
	switch {
	case r.Failure != script.NoFailure && (r.When == script.Before || !r.Stream):
		status, body := d.Failure(r.Failure)
		x.JSON(status, body)
	case r.Stream:
		x.Events(d.Events(r))
	default:
		x.Plain(int(r.Usage.Output), d.Body(r))
	}
}

// Digest identifies a prompt by its parts, byte for byte.
func Digest(parts ...json.RawMessage) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// tokensOf returns the number of tokens in the parts of a prompt.
func tokensOf(parts ...json.RawMessage) int64 {
	n := bytesPerToken - 1
	for _, part := range parts {
		n += len(part)
	}
	return int64(n / bytesPerToken)
}

// callID returns the call's own id, or one derived from the reply.
func (r Reply) callID(prefix string, index int) string {
	if id := r.Calls[index].ID; id != "" {
		return id
	}
	return fmt.Sprintf("%s%s%d", prefix, r.ID, index)
}

// input returns a call's input as a JSON object, with the text of a custom tool as its only member.
func input(c script.Call) string {
	switch {
	case c.Custom:
		return string(engine.JSON(engine.Object{"input": c.Input}))
	case c.Input == "":
		return "{}"
	}
	return c.Input
}

// object returns a call's input for dialects in which it is part of a JSON value. A damaged input is empty there.
func object(c script.Call) json.RawMessage {
	if text := input(c); json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return json.RawMessage("{}")
}

// textIn returns a content that is a string, or the texts of its parts of the kind, joined by line feeds.
func textIn(content json.RawMessage, kind string) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // anything else has no text
	var texts []string
	for _, p := range parts {
		if p.Type == kind {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// deltas returns a paced event for each piece of the text.
func (r Reply) deltas(text string, event func(piece string) engine.Event) (events []engine.Event) {
	left := int(script.Tokens(text))
	pieces := r.Pieces(text)
	for i, piece := range pieces {
		tokens := min(left, int(script.Tokens(piece)))
		if i == len(pieces)-1 {
			tokens = left
		}
		left -= tokens
		events = append(events, event(piece).AsDelta(tokens))
	}
	return events
}

const (
	statusOverloaded = 529

	overloadedText  = "The service is overloaded. Please try again later."
	rateLimitText   = "Rate limit reached. Please try again later."
	serverErrorText = "The server had an error while processing the request."
	invalidText     = "The request is not valid."
)

// openAIFailure returns the error of a failure as the Responses and the Chat API know it.
func openAIFailure(f script.Failure) (status int, kind, code, message string) {
	switch f {
	case script.TooLong:
		return http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, your input resulted in %d tokens.", script.TooLongMaximum, script.TooLongTokens)
	case script.Overloaded:
		return http.StatusServiceUnavailable, "server_error", "server_is_overloaded", overloadedText
	case script.RateLimited:
		return http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded", rateLimitText
	case script.Invalid:
		return http.StatusBadRequest, "invalid_request_error", "invalid_value", invalidText
	}
	return http.StatusInternalServerError, "server_error", "server_error", serverErrorText
}

func openAIError(f script.Failure) (status int, body engine.Object) {
	status, kind, code, message := openAIFailure(f)
	return status, openAIRefusal(kind, code, message)
}

func openAIRefusal(kind, code, message string) engine.Object {
	return engine.Object{"error": engine.Object{"message": message, "type": kind, "param": nil, "code": code}}
}
