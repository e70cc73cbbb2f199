package chatgpt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
	"shunt/internal/sim/script"
)

// unsupported are the parameters of the public API that this one rejects.
var unsupported = []string{"max_output_tokens", "temperature", "top_p", "previous_response_id", "stream_options"}

// peek reads what the record and the faults need of a request for inference.
func (x *exchange) peek() {
	var m struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	_ = json.Unmarshal(x.Body, &m) // responses reports what is malformed
	x.Model, x.Stream = m.Model, m.Stream
}

// problem returns what the provider's own checks find in the body, or "".
func (x *exchange) problem(body []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return "The request body is not valid JSON"
	}
	for _, name := range unsupported {
		if _, there := members[name]; there {
			return "Unsupported parameter: " + name
		}
	}
	switch {
	case string(members["stream"]) != "true":
		return "Stream must be set to true"
	case string(members["store"]) != "false":
		return "Store must be set to false"
	case !x.p.serves(x.Model):
		return fmt.Sprintf("The '%s' model is not supported when using Codex with a ChatGPT account.", x.Model)
	}
	return ""
}

func (p *Provider) serves(model string) bool {
	return slices.Contains(p.config.Models, model) || strings.HasPrefix(model, "gpt-")
}

// responses serves inference.
func (x *exchange) responses() {
	if x.BodyError != nil {
		x.detail(http.StatusBadRequest, "The request body could not be decoded")
		return
	}
	if problem := x.problem(x.Body); problem != "" {
		x.detail(http.StatusBadRequest, problem)
		return
	}
	request, err := render.Responses{}.Read(x.Body)
	if err != nil {
		x.detail(http.StatusBadRequest, err.Error())
		return
	}
	if state := x.R.Header.Get("X-Codex-Turn-State"); state != "" && !strings.HasPrefix(state, x.tag("turn")) {
		x.fail(http.StatusBadRequest, "invalid_turn_state", "The turn state does not belong to this account.")
		return
	}
	for _, seal := range request.Seals {
		if !strings.HasPrefix(seal, x.tag("seal")) {
			x.fail(http.StatusBadRequest, "invalid_encrypted_content", "The encrypted content could not be verified.")
			return
		}
	}
	if !x.Wait(x.p.Pace.FirstByte) {
		return
	}
	cached, ok := x.admit(request)
	if !ok {
		return
	}
	x.respond(request, cached)
}

// admit charges the prompt to the account's windows, or rejects the request if one is full. It returns the cached tokens.
func (x *exchange) admit(r render.Request) (read int64, ok bool) {
	var m struct {
		Key string `json:"prompt_cache_key"`
	}
	_ = json.Unmarshal(x.Body, &m) // it was read before
	now := x.p.Now()
	x.p.mu.Lock()
	x.a.expire(now)
	resets, full := x.a.full()
	if !full {
		if m.Key != "" {
			read = x.p.cache.Use(fmt.Sprintf("%q %q %q", x.a.Name, m.Key, r.Model), r.Tokens, now)
		}
		x.a.charge(float64(r.Tokens-read) + engine.CacheDiscount*float64(read))
	}
	x.p.mu.Unlock()
	if full {
		x.quotaHeaders()
		x.reject(resets)
	}
	return read, !full
}

func (x *exchange) respond(request render.Request, cached int64) {
	step := x.p.Play(request.Prompt)
	if step.Cached == 0 {
		step = step.WithCached(cached)
	}
	reply := render.NewReply(x.p.Base, request, step)
	reply.Seal = x.tag("seal") + reply.ID
	reply.Headers = engine.Object{"openai-model": request.Model}
	if reply.Failure != script.NoFailure && reply.When == script.Before {
		x.failure(reply.Failure)
		return
	}
	h := x.W.Header()
	h.Set("Openai-Model", request.Model)
	if x.R.Header.Get("X-Codex-Turn-State") == "" {
		h.Set("X-Codex-Turn-State", x.tag("turn")+reply.ID)
	}
	x.quotaHeaders()
	x.Charge = func(tokens int) {
		x.p.mu.Lock()
		defer x.p.mu.Unlock()
		x.a.expire(x.p.Now())
		x.a.charge(float64(tokens))
	}
	events := render.Responses{}.Events(reply)
	if x.p.config.RateLimitEvent {
		events = slices.Insert(events, 0, x.rateLimitEvent())
	}
	x.Events(events)
}

// tag begins the opaque values that belong to the account.
func (x *exchange) tag(kind string) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(x.p.Seed, kind, x.a.ID, x.a.User)))
	return "gAAAA" + hex.EncodeToString(sum[:12]) + "_"
}

// failure sends the error response of a scripted failure.
func (x *exchange) failure(f script.Failure) {
	if f == script.Invalid {
		x.detail(http.StatusBadRequest, "The request is not valid")
		return
	}
	status, body := render.Responses{}.Failure(f)
	x.JSON(status, body)
}

func (x *exchange) fail(status int, code, message string) {
	x.JSON(status, engine.Object{"error": engine.Object{"message": message, "type": "invalid_request_error", "param": nil, "code": code}})
}

// Verify returns an error unless the text of a response without a script belongs to the recorded request body.
func Verify(body []byte, text string) error {
	request, err := render.Responses{}.Read(body)
	if err != nil {
		return err
	}
	return script.Verify(text, "text", request.Digest)
}
