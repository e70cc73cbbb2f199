package responses

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// errorTypes are the types in error bodies, by kind (DIA-6).
var errorTypes = [...]string{
	dialect.InvalidRequest: "invalid_request_error", dialect.Authentication: "authentication_error",
	dialect.Permission: "permission_error", dialect.NotFound: "not_found_error", dialect.TooLarge: "invalid_request_error",
	dialect.RateLimit: "rate_limit_error", dialect.ServerError: "server_error", dialect.Overloaded: "server_error",
	dialect.Timeout: "server_error", dialect.UnknownError: "server_error", dialect.ContextOverflow: "invalid_request_error",
	dialect.QuotaExhausted: codeUsageLimit, dialect.NoAccount: "invalid_request_error",
}

// The codes of errors that shunt sends or acts on (FAM-7, GPT-7, DIA-7).
const (
	codeUsageLimit       = "usage_limit_reached"
	codeInsufficient     = "insufficient_quota"
	codeUsageNotIncluded = "usage_not_included"
	codeRateLimit        = "rate_limit_exceeded"
	codeOverloaded       = "server_is_overloaded"
	codeSlowDown         = "slow_down"
	codeServerError      = "server_error"
	codeOverflow         = "context_length_exceeded"
	codeTooLarge         = "request_too_large"
	codeTimeout          = "timeout"
)

// kinds are what the codes and types of errors mean.
var kinds = map[string]dialect.ErrorKind{
	codeUsageLimit: dialect.QuotaExhausted, codeInsufficient: dialect.QuotaExhausted, codeUsageNotIncluded: dialect.QuotaExhausted,
	codeRateLimit: dialect.RateLimit, "rate_limit_error": dialect.RateLimit, "too_many_requests": dialect.RateLimit,
	codeOverloaded: dialect.Overloaded, codeSlowDown: dialect.Overloaded, codeServerError: dialect.ServerError,
	codeTooLarge: dialect.TooLarge, codeTimeout: dialect.Timeout,
	codeOverflow: dialect.ContextOverflow, "invalid_request_error": dialect.InvalidRequest,
	"authentication_error": dialect.Authentication, "invalid_api_key": dialect.Authentication, "token_expired": dialect.Authentication,
	"permission_error": dialect.Permission, "not_found_error": dialect.NotFound, "model_not_found": dialect.NotFound,
}

// Status implements [dialect.Inbound] (DIA-6, GPT-12): Codex shows the message of a 400 and of a 429 for quota at once, and
// retries every other status first.
func (Dialect) Status(e *dialect.Error) int {
	switch e.Kind {
	case dialect.QuotaExhausted:
		return http.StatusTooManyRequests
	case dialect.NoAccount, dialect.ContextOverflow:
		return http.StatusBadRequest
	}
	return dialect.OpenStatus(e.Status)
}

// RendersExhaustion implements [dialect.Inbound]: Codex shows the time of a usage_limit_reached.
func (Dialect) RendersExhaustion() bool { return true }

// longestRetry is the longest retry-after that Codex gets, since it sleeps for all of any (GPT-12).
const longestRetry = time.Minute

// RetryAfter implements [dialect.Inbound].
func (Dialect) RetryAfter(kind dialect.ErrorKind, wait time.Duration) time.Duration {
	if kind == dialect.QuotaExhausted {
		return 0
	}
	return min(wait, longestRetry)
}

// AppendError implements [dialect.Inbound].
func (Dialect) AppendError(dst []byte, e *dialect.Error, _ string) []byte {
	return append(appendError(append(dst, `{"error":`...), e), '}')
}

// appendError appends the error object.
func appendError(dst []byte, e *dialect.Error) []byte {
	dst = append(dst, `{"type":`...)
	dst = wire.AppendQuoted(dst, errorTypes[e.Kind])
	dst = append(dst, `,"code":`...)
	if code := codeOf(e); code != "" {
		dst = wire.AppendQuoted(dst, code)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"message":`...)
	dst = wire.AppendQuoted(dst, e.Message)
	if e.Kind == dialect.QuotaExhausted && !e.Resets.IsZero() {
		dst = append(dst, `,"resets_at":`...)
		dst = strconv.AppendInt(dst, e.Resets.Unix(), 10)
	}
	if e.Kind == dialect.QuotaExhausted && e.RetryAfter > 0 {
		dst = append(dst, `,"resets_in_seconds":`...)
		dst = strconv.AppendInt(dst, int64((e.RetryAfter+time.Second-1)/time.Second), 10)
	}
	return append(dst, '}')
}

// codeOf returns the code of an error: its own, or the one by which clients recognize its kind.
func codeOf(e *dialect.Error) string {
	switch e.Kind {
	case dialect.ContextOverflow:
		return codeOverflow
	case dialect.QuotaExhausted:
		return codeUsageLimit
	case dialect.RateLimit:
		return codeRateLimit
	case dialect.Overloaded:
		return codeOverloaded
	case dialect.TooLarge:
		return codeTooLarge
	case dialect.Timeout:
		return codeTimeout
	case dialect.ServerError, dialect.UnknownError:
		return codeServerError
	}
	return e.Code
}

// AppendErrorEvent implements [dialect.Inbound]: Codex takes a response.failed for what it is, and not an error event alone
// (GPT-12).
func (Dialect) AppendErrorEvent(dst []byte, e *dialect.Error) []byte {
	dst = append(dst, "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":0,\"response\":{\"id\":\"resp_0\",\"object\":\"response\",\"status\":\"failed\",\"output\":[],\"error\":"...)
	return append(appendError(dst, e), "}}\n\n"...)
}

// errorJSON is an error as the API and ChatGPT send it: an object, or a text.
type errorJSON struct {
	Type            string          `json:"type"`
	Code            json.RawMessage `json:"code"` // a string; some vendors send a number
	Message         string          `json:"message"`
	ResetsAt        json.Number     `json:"resets_at"`
	ResetsInSeconds json.Number     `json:"resets_in_seconds"`
}

// ParseError implements [dialect.Outbound].
func (Dialect) ParseError(body []byte) (dialect.Error, bool) {
	var detail, message string
	members := wire.OpenObject(body)
	for members.Next() {
		switch {
		case members.Is("error"):
			if raw := members.Raw(); raw[0] == '{' {
				return parseErrorObject(raw)
			}
			if text := members.Decoded(); text != "" {
				return dialect.Error{Kind: kindOf("", text), Code: word(text), Message: text}, true
			}
		case members.Is("detail"):
			detail = members.Decoded()
			if raw := members.Raw(); raw[0] == '{' {
				if e, ok := parseErrorObject(raw); ok {
					return e, true
				}
			}
		case members.Is("message"):
			message = members.Decoded()
		}
	}
	if detail == "" {
		detail = message
	}
	if detail == "" {
		return dialect.Error{}, false
	}
	return dialect.Error{Kind: kindOf("", ""), Message: detail}, true
}

// parseErrorObject reads an error object. Only a type, a code or a message is required.
func parseErrorObject(object []byte) (dialect.Error, bool) {
	var e errorJSON
	if json.Unmarshal(object, &e) != nil {
		lenient(object, &e)
	}
	var code string
	if json.Unmarshal(e.Code, &code) != nil {
		code = ""
	}
	if e.Type == "" && code == "" && e.Message == "" {
		return dialect.Error{}, false
	}
	parsed := dialect.Error{Kind: kindOf(code, e.Type), Code: word(code), Message: e.Message}
	if parsed.Code == "" {
		parsed.Code = word(e.Type)
	}
	if at, err := e.ResetsAt.Float64(); err == nil && at > 0 && at < 1<<40 {
		parsed.Resets = time.Unix(int64(at), 0)
	}
	if in, err := e.ResetsInSeconds.Float64(); err == nil && in > 0 && in < 1<<30 {
		parsed.RetryAfter = time.Duration(in * float64(time.Second))
	}
	return parsed, true
}

// lenient reads the texts of an object whose other members have unexpected types, or which is truncated.
func lenient(object []byte, e *errorJSON) {
	members := wire.OpenObject(object)
	for members.Next() {
		switch {
		case members.Is("type"):
			e.Type = members.Decoded()
		case members.Is("code"):
			e.Code = members.Raw()
		case members.Is("message"):
			e.Message = members.Decoded()
		}
	}
}

// kindOf returns what an error with a code and a type means; the code is more exact.
func kindOf(code, kind string) dialect.ErrorKind {
	if k, ok := kinds[code]; ok {
		return k
	}
	if k, ok := kinds[kind]; ok {
		return k
	}
	return dialect.UnknownError
}

// word returns a code if it looks like one, so that nothing else reaches a log.
func word(code string) string {
	if len(code) > 64 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return ""
	}
	return code
}
