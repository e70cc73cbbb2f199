package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
	"shunt/internal/sim/script"
)

// bytesPerToken is the number of prompt bytes per token.
const bytesPerToken = 4

// prompt is a request body for inference.
type prompt struct {
	Model     string          `json:"model"`
	Messages  json.RawMessage `json:"messages"`
	System    json.RawMessage `json:"system"`
	Tools     json.RawMessage `json:"tools"`
	MaxTokens int             `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	Thinking  struct {
		Type string `json:"type"`
	} `json:"thinking"`
	Metadata struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
}

// digest identifies the prompt, byte for byte. It leaves out what shunt may change: the model and the account in the metadata.
func (p prompt) digest() string {
	return render.Digest(p.Messages, p.System, p.Tools)
}

func (p prompt) thinking() bool { return p.Thinking.Type == "enabled" || p.Thinking.Type == "adaptive" }

func (p prompt) size() int64 {
	return int64(len(p.Messages)+len(p.System)+len(p.Tools)+bytesPerToken-1) / bytesPerToken
}

// check reports whether the request is valid and sends the error response if not. Counting tokens needs no max_tokens.
func (x *exchange) check(counting bool) bool {
	p := &x.prompt
	var turns []json.RawMessage
	switch {
	case x.malformed != nil:
		x.invalid("The request body is not valid JSON: " + x.malformed.Error())
	case p.Model == "":
		x.invalid("model: Field required")
	case json.Unmarshal(p.Messages, &turns) != nil || len(turns) == 0:
		x.invalid("messages: at least one message is required")
	case p.MaxTokens <= 0 && !counting:
		x.invalid("max_tokens: Field required")
	case !x.p.serves(p.Model):
		x.fail(failure{http.StatusNotFound, messages.TypeNotFound, "model: " + p.Model, ""})
	default:
		var err error
		if x.request, err = (render.Messages{}).Read(x.body); err == nil {
			return true
		}
		x.invalid(err.Error())
	}
	return false
}

func (p *Provider) serves(model string) bool {
	if slices.Contains(p.config.Models, model) {
		return true
	}
	return strings.HasPrefix(model, "claude-") && !strings.Contains(model, "[")
}

// messages serves inference.
func (x *exchange) messages() {
	if !x.check(false) || !x.wait(x.p.config.Pace.FirstByte) {
		return
	}
	full := x.admit()
	if len(full) > 0 {
		x.reject(full...)
		return
	}
	m := x.compose()
	switch {
	case m.Failure != script.NoFailure && (m.When == script.Before || !m.Stream):
		status, kind, message := render.Messages{}.Error(m.Failure)
		x.limitHeaders()
		x.fail(failure{status, messages.ErrorType(kind), message, ""})
	case m.Stream:
		x.stream(m)
	default:
		x.plain(m)
	}
}

// admit charges the prompt to the account's windows, or returns the windows that are full.
func (x *exchange) admit() (full []messages.Window) {
	p, now, fable := x.p, x.p.config.Clock.Now(), isFable(x.prompt.Model)
	p.mu.Lock()
	defer p.mu.Unlock()
	x.account.expire(now)
	if full = x.account.full(fable); len(full) > 0 {
		return full
	}
	x.tokens.Input = x.prompt.size()
	if session := x.r.Header.Get(sessionHeader); session != "" {
		x.tokens.CacheRead = p.cache.Use(fmt.Sprintf("%q %q %q", x.account.Name, session, x.prompt.Model), x.tokens.Input, now)
		x.tokens.CacheCreation = x.tokens.Input - x.tokens.CacheRead
		x.tokens.Input = 0
	}
	x.account.charge(float64(x.tokens.Input+x.tokens.CacheCreation)+engine.CacheDiscount*float64(x.tokens.CacheRead), fable)
	return nil
}

// chargeOutput charges generated tokens to the account's windows.
func (x *exchange) chargeOutput(tokens int) {
	x.tokens.Output += int64(tokens)
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	x.account.expire(x.p.config.Clock.Now())
	x.account.charge(float64(tokens), isFable(x.prompt.Model))
}

// servedHeaders writes the account's limits for a request that is served.
func (x *exchange) servedHeaders() {
	x.p.mu.Lock()
	x.account.expire(x.p.config.Clock.Now())
	limits := x.account.served(isFable(x.prompt.Model))
	x.p.mu.Unlock()
	x.writeLimits(limits)
}

// compose returns the response to the prompt: the next of the script, or one that depends on the seed and the prompt alone.
func (x *exchange) compose() render.Reply {
	request := x.request
	r := engine.Rand(x.p.config.Seed, "response", request.Digest, request.Model)
	words := x.p.config.Output.Pick(r)
	reply := render.Reply{
		Request: request, ID: engine.Hex(r, 12), Seal: engine.Hex(r, 32),
		Pieces: func(text string) []string { return script.Pieces(text, x.p.config.Pace.DeltaTokens) },
	}
	x.p.mu.Lock()
	step, scripted := x.p.script.Next()
	x.p.mu.Unlock()
	if !scripted {
		step = script.Default(request.Prompt, words, r)
	}
	reply.Step = step.For(request.Prompt)
	reply.Usage = render.Usage{Input: x.tokens.Input, CacheCreation: x.tokens.CacheCreation, CacheRead: x.tokens.CacheRead}
	if step.Cached > 0 {
		prompt := reply.Usage.Prompt()
		reply.Usage = render.Usage{CacheRead: min(step.Cached, prompt), Input: max(0, prompt-step.Cached)}
	}
	reply.Count()
	return reply
}

// plain sends the whole response at the time at which a stream would have sent its last token.
func (x *exchange) plain(m render.Reply) {
	pace := x.p.config.Pace
	deltas := int(m.Usage.Output) / pace.DeltaTokens
	if !x.wait(time.Duration(deltas) * pace.Delta) {
		return
	}
	x.chargeOutput(int(m.Usage.Output))
	x.servedHeaders()
	x.json(http.StatusOK, render.Messages{}.Body(m))
}
