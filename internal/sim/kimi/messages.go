package kimi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
	"shunt/internal/sim/script"
)

// messages serves inference.
func (x *exchange) messages() {
	request, ok := x.read()
	if !ok || !x.Wait(x.p.Pace.FirstByte) {
		return
	}
	if request.MaxTokens <= 0 {
		x.refuse(http.StatusBadRequest, "invalid_request_error", "max_tokens: Field required")
		return
	}
	if wait := x.admit(request.Tokens); wait > 0 {
		x.W.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
		x.refuse(http.StatusTooManyRequests, "rate_limit_error", "You have reached your usage limit. Please try again later.")
		return
	}
	x.Charge = func(tokens int) {
		x.p.mu.Lock()
		defer x.p.mu.Unlock()
		x.a.window.Used += float64(tokens)
	}
	reply := render.NewReply(x.p.Base, request, x.p.Play(request.Prompt))
	reply.Seal = engine.Hex(engine.Rand(x.p.Seed, "seal", request.Digest), 32)
	render.Respond(x.Exchange, render.Messages{}, reply)
}

// read returns the request if it is valid, and sends the error response if not.
func (x *exchange) read() (request render.Request, ok bool) {
	request, err := render.Messages{}.Read(x.Body)
	switch {
	case x.BodyError != nil:
		x.refuse(http.StatusBadRequest, "invalid_request_error", "The request body could not be decoded")
	case err != nil:
		x.refuse(http.StatusBadRequest, "invalid_request_error", err.Error())
	case !x.p.serves(request.Model):
		x.refuse(http.StatusNotFound, "not_found_error", "model: "+request.Model)
	default:
		return request, true
	}
	return request, false
}

func (p *Provider) serves(model string) bool {
	return slices.Contains(p.config.Models, model)
}

// admit charges the prompt to the account's window, or returns the time until it resets if it is full.
func (x *exchange) admit(tokens int64) time.Duration {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	now, w := x.p.Now(), &x.a.window
	w.Expire(now)
	if w.Full() {
		return w.Resets.Sub(now)
	}
	w.Used += float64(tokens)
	return 0
}

// countTokens serves the endpoint that counts a prompt's tokens, which uses no quota.
func (x *exchange) countTokens() {
	if request, ok := x.read(); ok {
		x.JSON(http.StatusOK, engine.Object{"input_tokens": request.Tokens})
	}
}

// models serves the list of models.
func (x *exchange) models() {
	data := []engine.Object{}
	for _, id := range x.p.config.Models {
		data = append(data, engine.Object{"id": id, "object": "model", "type": "model", "display_name": id, "created_at": "2026-01-01T00:00:00Z"})
	}
	x.JSON(http.StatusOK, engine.Object{"data": data, "has_more": false})
}

// Failure is an error response with the status, in the form of the Messages API.
func Failure(status int, kind, message string) engine.Fault {
	return engine.Status(status, render.Messages{}.Refusal(status, kind, message))
}

// PaymentRequired is the 402 of an account whose membership has ended.
func PaymentRequired() engine.Fault {
	return Failure(http.StatusPaymentRequired, "billing_error", "Your membership has expired.")
}

// RateLimited is a 429 that does not depend on the quota, with retryAfter unless that is empty.
func RateLimited(retryAfter string) engine.Fault {
	status, body := render.Messages{}.Failure(script.RateLimited)
	return engine.Status(status, body).RetryAfter(retryAfter)
}
