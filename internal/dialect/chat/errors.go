package chat

import (
	"net/http"
	"strconv"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// Status implements [dialect.Inbound] (DIA-6, DIA-7).
func (Dialect) Status(e *dialect.Error) int {
	if e.Kind == dialect.ContextOverflow {
		return http.StatusBadRequest
	}
	return dialect.OpenStatus(e.Status)
}

// RendersExhaustion implements [dialect.Inbound]: clients understand the provider's own rejection best.
func (Dialect) RendersExhaustion() bool { return false }

// RetryAfter implements [dialect.Inbound].
func (Dialect) RetryAfter(_ dialect.ErrorKind, wait time.Duration) time.Duration { return wait }

// AppendError implements [dialect.Inbound].
func (Dialect) AppendError(dst []byte, e *dialect.Error, _ string) []byte {
	known := *e
	switch known.Kind { // those that only Codex's dialect distinguishes (GPT-12)
	case dialect.QuotaExhausted:
		known.Kind = dialect.RateLimit
	case dialect.NoAccount:
		known.Kind = dialect.ServerError
	}
	return append(dialect.AppendOpenError(append(dst, `{"error":`...), &known), '}')
}

// AppendErrorEvent implements [dialect.Inbound] (DIA-8): no other event follows it.
func (Dialect) AppendErrorEvent(dst []byte, e *dialect.Error) []byte {
	dst = append(dst, "data: "...)
	return append(Dialect{}.AppendError(dst, e, ""), "\n\n"...)
}

// kinds are what the types and codes of errors mean that only vendors of this dialect send.
var kinds = map[string]dialect.ErrorKind{
	"rate_limit_reached_error": dialect.RateLimit, "exceeded_current_quota_error": dialect.QuotaExhausted,
	"engine_overloaded_error": dialect.Overloaded, "overloaded_error": dialect.Overloaded, "service_unavailable": dialect.Overloaded,
	"internal_error": dialect.ServerError, "internal_server_error": dialect.ServerError, "api_error": dialect.ServerError,
}

// ParseError implements [dialect.Outbound]. Some vendors give the status as the code.
func (Dialect) ParseError(body []byte) (dialect.Error, bool) {
	parse := dialect.ParseOpenError
	if textOf(body, "object") == "error" {
		parse = dialect.ParseOpenErrorObject
	}
	e, ok := parse(body)
	if !ok || e.Kind != dialect.UnknownError {
		return e, ok
	}
	if kind, known := kinds[e.Code]; known {
		e.Kind = kind
		return e, true
	}
	object := body
	if inner := member(body, "error"); len(inner) > 0 && inner[0] == '{' {
		object = inner
	}
	if code := string(member(object, "code")); code != "" {
		if unquoted, err := strconv.Unquote(code); err == nil {
			code = unquoted
		}
		e.Kind = kindOfStatus(code)
	}
	return e, true
}

// kindOfStatus returns what a status means that is a code.
func kindOfStatus(code string) dialect.ErrorKind {
	status, err := strconv.Atoi(code)
	switch {
	case err != nil:
		return dialect.UnknownError
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return dialect.InvalidRequest
	case status == http.StatusUnauthorized:
		return dialect.Authentication
	case status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return dialect.Permission
	case status == http.StatusNotFound:
		return dialect.NotFound
	case status == http.StatusRequestEntityTooLarge:
		return dialect.TooLarge
	case status == http.StatusTooManyRequests:
		return dialect.RateLimit
	case status == http.StatusServiceUnavailable, status == 529:
		return dialect.Overloaded
	case status == http.StatusGatewayTimeout:
		return dialect.Timeout
	case 500 <= status && status < 600:
		return dialect.ServerError
	}
	return dialect.UnknownError
}

// failureIn returns the error that an event's data or a document reports, in its member error or in itself.
func failureIn(data []byte) (dialect.Error, bool) {
	reported := member(data, "error")
	if (len(reported) == 0 || string(reported) == "null") && textOf(data, "object") != "error" {
		return dialect.Error{}, false
	}
	e, ok := Dialect{}.ParseError(data)
	if !ok {
		e = dialect.Error{Kind: dialect.UnknownError}
	}
	return e, true
}

// member returns an object's member, or nothing.
func member(object []byte, name string) []byte {
	value, ok := wire.Member(object, name)
	if !ok {
		return nil
	}
	return value.Of(object)
}

// textOf returns the text of an object's member, or "".
func textOf(object []byte, name string) string {
	members := wire.OpenObject(object)
	for members.Next() {
		if members.Is(name) {
			return members.Decoded()
		}
	}
	return ""
}
