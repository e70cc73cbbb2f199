package dialect

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"shunt/internal/wire"
)

// openTypes are the types in error bodies, by kind (DIA-6).
var openTypes = [...]string{
	InvalidRequest: "invalid_request_error", Authentication: "authentication_error",
	Permission: "permission_error", NotFound: "not_found_error", TooLarge: "invalid_request_error",
	RateLimit: "rate_limit_error", ServerError: "server_error", Overloaded: "server_error",
	Timeout: "server_error", UnknownError: "server_error", ContextOverflow: "invalid_request_error",
	QuotaExhausted: codeUsageLimit, NoAccount: "invalid_request_error",
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

// openKinds are what the codes and types of errors mean.
var openKinds = map[string]ErrorKind{
	codeUsageLimit: QuotaExhausted, codeInsufficient: QuotaExhausted, codeUsageNotIncluded: QuotaExhausted,
	codeRateLimit: RateLimit, "rate_limit_error": RateLimit, "too_many_requests": RateLimit,
	codeOverloaded: Overloaded, codeSlowDown: Overloaded, codeServerError: ServerError,
	codeTooLarge: TooLarge, codeTimeout: Timeout,
	codeOverflow: ContextOverflow, "invalid_request_error": InvalidRequest,
	"authentication_error": Authentication, "invalid_api_key": Authentication, "token_expired": Authentication,
	"permission_error": Permission, "not_found_error": NotFound, "model_not_found": NotFound,
}

// AppendOpenError appends an error object as OpenAI's API sends it (DIA-6).
func AppendOpenError(dst []byte, e *Error) []byte {
	dst = append(dst, `{"type":`...)
	dst = wire.AppendQuoted(dst, openTypes[e.Kind])
	dst = append(dst, `,"code":`...)
	if code := openCode(e); code != "" {
		dst = wire.AppendQuoted(dst, code)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"message":`...)
	dst = wire.AppendQuoted(dst, e.Message)
	if e.Kind == QuotaExhausted && !e.Resets.IsZero() {
		dst = append(dst, `,"resets_at":`...)
		dst = strconv.AppendInt(dst, e.Resets.Unix(), 10)
	}
	if e.Kind == QuotaExhausted && e.RetryAfter > 0 {
		dst = append(dst, `,"resets_in_seconds":`...)
		dst = strconv.AppendInt(dst, int64((e.RetryAfter+time.Second-1)/time.Second), 10)
	}
	return append(dst, '}')
}

// openCode returns the code of an error: its own, or the one by which clients recognize its kind.
func openCode(e *Error) string {
	switch e.Kind {
	case ContextOverflow:
		return codeOverflow
	case QuotaExhausted:
		return codeUsageLimit
	case RateLimit:
		return codeRateLimit
	case Overloaded:
		return codeOverloaded
	case TooLarge:
		return codeTooLarge
	case Timeout:
		return codeTimeout
	case ServerError, UnknownError:
		return codeServerError
	}
	return e.Code
}

// openErrorJSON is an error as the API and ChatGPT send it: an object, or a text.
type openErrorJSON struct {
	Type            string          `json:"type"`
	Code            json.RawMessage `json:"code"` // a string; some vendors send a number
	Message         string          `json:"message"`
	ResetsAt        json.Number     `json:"resets_at"`
	ResetsInSeconds json.Number     `json:"resets_in_seconds"`
}

// ParseOpenError reads an error from the body of a response; see [Outbound.ParseError].
func ParseOpenError(body []byte) (Error, bool) {
	var detail, message string
	members := wire.OpenObject(body)
	for members.Next() {
		switch {
		case members.Is("error"):
			if raw := members.Raw(); raw[0] == '{' {
				return ParseOpenErrorObject(raw)
			}
			if text := members.Decoded(); text != "" {
				return Error{Kind: openKind("", text), Code: word(text), Message: text}, true
			}
		case members.Is("detail"):
			detail = members.Decoded()
			if raw := members.Raw(); raw[0] == '{' {
				if e, ok := ParseOpenErrorObject(raw); ok {
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
		return Error{}, false
	}
	return Error{Kind: openKind("", ""), Message: detail}, true
}

// ParseOpenErrorObject reads an error object. Only a type, a code or a message is required.
func ParseOpenErrorObject(object []byte) (Error, bool) {
	var e openErrorJSON
	if json.Unmarshal(object, &e) != nil {
		lenient(object, &e)
	}
	var code string
	if json.Unmarshal(e.Code, &code) != nil {
		code = ""
	}
	if e.Type == "" && code == "" && e.Message == "" {
		return Error{}, false
	}
	parsed := Error{Kind: openKind(code, e.Type), Code: word(code), Message: e.Message}
	if parsed.Code == "" {
		parsed.Code = word(e.Type)
	}
	if (parsed.Kind == InvalidRequest || parsed.Kind == UnknownError) && IsOverflow(parsed.Code, parsed.Message) {
		parsed.Kind = ContextOverflow
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
func lenient(object []byte, e *openErrorJSON) {
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

// openKind returns what an error with a code and a type means; the code is more exact.
func openKind(code, kind string) ErrorKind {
	if k, ok := openKinds[code]; ok {
		return k
	}
	if k, ok := openKinds[kind]; ok {
		return k
	}
	return UnknownError
}

// word returns a code if it looks like one, so that nothing else reaches a log.
func word(code string) string {
	if len(code) > 64 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return ""
	}
	return code
}
