package chatgpt

import (
	"net/http"
	"time"

	"shunt/internal/sim/engine"
)

func failure(status int, kind, code, message string) engine.Fault {
	return engine.Status(status, engine.Object{"error": engine.Object{"type": kind, "code": code, "message": message, "param": nil}})
}

// UsageLimitReached is the 429 of an account that has quota again after d, whatever its windows say.
func UsageLimitReached(d time.Duration) engine.Fault {
	return engine.Respond("usage limit reached", func(x *engine.Exchange) {
		x.JSON(http.StatusTooManyRequests, usageLimit("plus", x.Now().Add(d), x.Now()))
	})
}

// UsageNotIncluded is the 429 of a plan without Codex.
func UsageNotIncluded() engine.Fault {
	return failure(http.StatusTooManyRequests, "usage_not_included", "usage_not_included", "Codex is not included in your plan.")
}

// RateLimited is a 429 that is not about quota, with retryAfter unless that is empty.
func RateLimited(retryAfter string) engine.Fault {
	return failure(http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached. Please try again later.").RetryAfter(retryAfter)
}

// Overloaded is a 503 of a model without capacity.
func Overloaded() engine.Fault {
	return failure(http.StatusServiceUnavailable, "service_unavailable_error", "server_is_overloaded", "Selected model is at capacity. Please try a different model.")
}

// ServerError is a 5xx.
func ServerError(status int) engine.Fault {
	return failure(status, "server_error", "server_error", "The server had an error while processing the request.")
}

// Unauthorized is a 401 for a valid token.
func Unauthorized() engine.Fault {
	return failure(http.StatusUnauthorized, "invalid_request_error", "token_invalidated", "Your authentication token has been invalidated.")
}

// PaymentRequired is a 402.
func PaymentRequired() engine.Fault {
	return engine.Status(http.StatusPaymentRequired, engine.Object{"detail": engine.Object{"code": "deactivated_workspace"}})
}

// Deactivated is the 403 of an account that the provider has closed.
func Deactivated() engine.Fault {
	return failure(http.StatusForbidden, "invalid_request_error", "account_deactivated", "Your account has been deactivated.")
}

// Challenge is the 403 of the firewall in front of the provider: an HTML page.
func Challenge() engine.Fault {
	return engine.Page(http.StatusForbidden, "<!doctype html><html><head><title>Just a moment...</title></head><body>Enable JavaScript and cookies to continue</body></html>")
}

// InvalidGrant rejects refreshes of the account as if its login had been lost.
func InvalidGrant(code string) engine.Fault {
	return failure(http.StatusUnauthorized, "invalid_request_error", code, "Your refresh token can not be used. Please sign in again.").On(TokenPath)
}

// SlowRefresh rotates the tokens at once and responds d later, so that losing the response loses the login (TOK-5).
func SlowRefresh(d time.Duration) engine.Fault { return engine.SlowReply(d).On(TokenPath) }

// failedEvent is the event response.failed with the code.
func failedEvent(code string) engine.Event {
	return engine.Named("response.failed", engine.Object{"type": "response.failed", "sequence_number": 2, "response": engine.Object{
		"id": "resp_failed", "object": "response", "status": "failed", "output": []any{}, "usage": nil,
		"error": engine.Object{"code": code, "message": "Failed: " + code},
	}})
}

func handshake() []engine.Event {
	response := engine.Object{"id": "resp_failed", "object": "response", "status": "in_progress", "output": []any{}}
	return []engine.Event{
		engine.Named("response.created", engine.Object{"type": "response.created", "sequence_number": 0, "response": response}),
		engine.Named("response.in_progress", engine.Object{"type": "response.in_progress", "sequence_number": 1, "response": response}),
	}
}

// Handshake responds as usual, with n more events codex.note at the beginning of a stream.
func Handshake(n int) engine.Fault {
	return engine.Preceded(n, engine.Named("codex.note", engine.Object{"type": "codex.note"}))
}

// FailedFirst is a 200 whose first event after the handshake is response.failed with the code.
func FailedFirst(code string) engine.Fault {
	return engine.Respond("failed first: "+code, func(x *engine.Exchange) { x.Events(append(handshake(), failedEvent(code))) })
}

// ErrorFirst is a 200 whose first event after the handshake is an error event with the code.
func ErrorFirst(code string) engine.Fault {
	e := engine.Named("error", engine.Object{"type": "error", "sequence_number": 2, "code": code, "message": "Failed: " + code, "param": nil})
	return engine.Respond("error first: "+code, func(x *engine.Exchange) { x.Events(append(handshake(), e)) })
}

// FailedAfter sends the first n events of a stream, then response.failed with the code.
func FailedAfter(n int, code string) engine.Fault { return engine.Replace(n, failedEvent(code)) }
