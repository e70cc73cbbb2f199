package render

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// Gemini is the dialect of the Gemini API's generateContent methods. The model and whether to stream are in the path, so a
// provider sets them after Read.
type Gemini struct{}

const (
	// sealPrefix begins the decoded signature of a thought.
	sealPrefix = "thought:"
	// skipSignature is the documented signature of a call that another model made.
	skipSignature = "skip_thought_signature_validator"
)

type geminiPart struct {
	Text      string       `json:"text"`
	Call      *geminiNamed `json:"functionCall"`
	Response  *geminiNamed `json:"functionResponse"`
	Signature string       `json:"thoughtSignature"`
}

type geminiNamed struct {
	Name string `json:"name"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// Read reads a request (see [Dialect]). The first call of each model turn since the user's last text must have its signature.
func (Gemini) Read(body []byte) (r Request, err error) {
	var m struct {
		Contents json.RawMessage `json:"contents"`
		System   json.RawMessage `json:"systemInstruction"`
		Tools    json.RawMessage `json:"tools"`
		Config   struct {
			MaxTokens int64 `json:"maxOutputTokens"`
			Thinking  struct {
				Include bool `json:"includeThoughts"`
			} `json:"thinkingConfig"`
		} `json:"generationConfig"`
	}
	if json.Unmarshal(body, &m) != nil {
		return r, malformed("Invalid JSON payload received.")
	}
	var contents []geminiContent
	if json.Unmarshal(m.Contents, &contents) != nil || len(contents) == 0 {
		return r, malformed("* GenerateContentRequest.contents: contents is not specified")
	}
	r.MaxTokens, r.Reasoning = m.Config.MaxTokens, m.Config.Thinking.Include
	r.Digest, r.Tokens = Digest(m.Contents, m.System, m.Tools), tokensOf(m.Contents, m.System, m.Tools)
	var tools []struct {
		Declarations []struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
			Schema     json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	}
	_ = json.Unmarshal(m.Tools, &tools) // without tools there is nothing to call
	for _, t := range tools {
		for _, f := range t.Declarations {
			if err := checkSchema(f.Parameters); err != nil {
				return r, err
			}
			schema := f.Parameters
			if schema == nil {
				schema = f.Schema
			}
			r.Tools = append(r.Tools, script.Tool{Name: f.Name, Schema: schema})
		}
	}
	last := contents[len(contents)-1]
	var texts []string
	for _, p := range last.Parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	if last.Role != "model" && !hasResponse(last) {
		r.LastUser = strings.Join(texts, "\n")
	}
	if err := errors.Join(checkNames(r.Tools, geminiName), checkContents(contents)); err != nil {
		return r, err
	}
	return r, checkSignatures(contents)
}

func hasResponse(c geminiContent) bool {
	for _, p := range c.Parts {
		if p.Response != nil {
			return true
		}
	}
	return false
}

func checkSignatures(contents []geminiContent) error {
	for i := len(contents) - 1; i >= 0; i-- {
		c := contents[i]
		if c.Role != "model" {
			if !hasResponse(c) {
				return nil // earlier turns are not checked
			}
			continue
		}
		for _, p := range c.Parts {
			if p.Call == nil {
				continue
			}
			seal, err := base64.StdEncoding.DecodeString(p.Signature)
			if p.Signature != skipSignature && (err != nil || !strings.HasPrefix(string(seal), sealPrefix)) {
				return malformed(fmt.Sprintf("Function call is missing a thought_signature in functionCall parts (content %d)", i+1))
			}
			break // only the first call has one
		}
	}
	return nil
}

func (r Reply) geminiFinish() string {
	switch {
	case r.Stop == script.AtMaximum:
		return "MAX_TOKENS"
	case r.Stop == script.AtFiltered, r.Refusal != "":
		return "SAFETY"
	}
	return "STOP"
}

func (r Reply) geminiCalls() (parts []engine.Object) {
	for i, c := range r.Calls {
		p := engine.Object{"functionCall": engine.Object{"name": c.Name, "args": object(c)}}
		if i == 0 {
			p["thoughtSignature"] = base64.StdEncoding.EncodeToString([]byte(sealPrefix + r.ID))
		}
		parts = append(parts, p)
	}
	return parts
}

func (r Reply) candidate(parts []engine.Object, finish string) engine.Object {
	candidate := engine.Object{"index": 0, "content": engine.Object{"role": "model", "parts": parts}}
	chunk := engine.Object{"candidates": []engine.Object{candidate}, "modelVersion": r.Model, "responseId": r.ID}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	u := r.Usage
	chunk["usageMetadata"] = engine.Object{
		"promptTokenCount": u.Prompt(), "cachedContentTokenCount": u.CacheRead, "thoughtsTokenCount": u.Reasoning,
		"candidatesTokenCount": u.Output - u.Reasoning, "totalTokenCount": u.Prompt() + u.Output,
	}
	return chunk
}

// Body returns the response (see [Dialect]).
func (Gemini) Body(r Reply) any {
	parts := []engine.Object{}
	if r.Reasoning != "" {
		parts = append(parts, engine.Object{"text": r.Reasoning, "thought": true})
	}
	for _, text := range []string{r.Text, r.Refusal} {
		if text != "" {
			parts = append(parts, engine.Object{"text": text})
		}
	}
	return r.candidate(append(parts, r.geminiCalls()...), r.geminiFinish())
}

// Events returns the response as a stream (see [Dialect]).
func (d Gemini) Events(r Reply) (events []engine.Event) {
	_, failure := d.Failure(r.Failure)
	if r.Failure != script.NoFailure && r.When == script.First {
		return []engine.Event{engine.Data(failure)}
	}
	events = append(events, r.deltas(r.Reasoning, func(piece string) engine.Event {
		return engine.Data(r.candidate([]engine.Object{{"text": piece, "thought": true}}, ""))
	})...)
	for _, text := range []string{r.Text, r.Refusal} {
		events = append(events, r.deltas(text, func(piece string) engine.Event {
			return engine.Data(r.candidate([]engine.Object{{"text": piece}}, ""))
		})...)
	}
	for _, call := range r.geminiCalls() {
		events = append(events, engine.Data(r.candidate([]engine.Object{call}, "")))
	}
	switch {
	case r.Failure != script.NoFailure:
		return append(events, engine.Data(failure))
	case r.Cut:
		return events
	}
	return append(events, engine.Data(r.candidate([]engine.Object{{"text": ""}}, r.geminiFinish())))
}

// RetryDelay is what the error of [script.RateLimited] recommends, in seconds.
const RetryDelay = 17

// Failure returns an error response (see [Dialect]).
func (Gemini) Failure(f script.Failure) (status int, body any) {
	kind, message := "INTERNAL", serverErrorText
	status = http.StatusInternalServerError
	var details []engine.Object
	switch f {
	case script.TooLong:
		status, kind = http.StatusBadRequest, "INVALID_ARGUMENT"
		message = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", script.TooLongTokens, script.TooLongMaximum)
	case script.Overloaded:
		status, kind, message = http.StatusServiceUnavailable, "UNAVAILABLE", overloadedText
	case script.RateLimited:
		status, kind, message = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "You exceeded your current quota."
		details = []engine.Object{
			{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []engine.Object{
				{"quotaMetric": "generativelanguage.googleapis.com/generate_content_requests", "quotaId": "GenerateRequestsPerMinutePerProjectPerModel"},
			}},
			{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%ds", RetryDelay)},
		}
	case script.Invalid:
		status, kind, message = http.StatusBadRequest, "INVALID_ARGUMENT", invalidText
	}
	return status, geminiError(status, kind, message, details)
}

// Refusal returns the body of an error response (see [Dialect]); the status tells the code.
func (Gemini) Refusal(status int, _, message string) any {
	kind := map[int]string{http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusNotFound: "NOT_FOUND"}[status]
	if kind == "" {
		kind = "INVALID_ARGUMENT"
	}
	return geminiError(status, kind, message, nil)
}

// geminiError returns the body of an error response.
func geminiError(code int, kind, message string, details []engine.Object) engine.Object {
	e := engine.Object{"code": code, "message": message, "status": kind}
	if details != nil {
		e["details"] = details
	}
	return engine.Object{"error": e}
}
