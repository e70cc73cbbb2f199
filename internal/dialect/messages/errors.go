package messages

import (
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// ErrorType is the type in the API's error envelope.
type ErrorType string

// The types that shunt sends or acts on.
const (
	TypeInvalidRequest ErrorType = "invalid_request_error"
	TypeAuthentication ErrorType = "authentication_error"
	TypePermission     ErrorType = "permission_error"
	TypeNotFound       ErrorType = "not_found_error"
	TypeTooLarge       ErrorType = "request_too_large"
	TypeRateLimit      ErrorType = "rate_limit_error"
	TypeAPI            ErrorType = "api_error"
	TypeOverloaded     ErrorType = "overloaded_error"
	TypeTimeout        ErrorType = "timeout_error"
)

var errorTypes = [...]ErrorType{
	dialect.InvalidRequest: TypeInvalidRequest, dialect.Authentication: TypeAuthentication, dialect.Permission: TypePermission,
	dialect.NotFound: TypeNotFound, dialect.TooLarge: TypeTooLarge, dialect.RateLimit: TypeRateLimit, dialect.ServerError: TypeAPI,
	dialect.Overloaded: TypeOverloaded, dialect.Timeout: TypeTimeout, dialect.UnknownError: TypeAPI,
	dialect.ContextOverflow: TypeInvalidRequest, dialect.QuotaExhausted: TypeRateLimit, dialect.NoAccount: TypeAPI,
}

func kindOfError(t ErrorType) dialect.ErrorKind {
	for kind, known := range errorTypes {
		if t == known {
			return dialect.ErrorKind(kind)
		}
	}
	return dialect.UnknownError
}

// failsBeforeResponse reports whether a stream that begins with such an error counts as a failure, and not as a response
// (FO-11).
func failsBeforeResponse(t ErrorType) bool {
	return t == TypeOverloaded || t == TypeAPI || t == TypeRateLimit
}

// Status implements [dialect.Inbound].
func (Dialect) Status(e *dialect.Error) int { return e.Status }

// RendersExhaustion implements [dialect.Inbound]: clients understand the provider's own rejection best.
func (Dialect) RendersExhaustion() bool { return false }

// RetryAfter implements [dialect.Inbound].
func (Dialect) RetryAfter(_ dialect.ErrorKind, wait time.Duration) time.Duration { return wait }

// AppendError implements [dialect.Inbound].
func (Dialect) AppendError(dst []byte, e *dialect.Error, requestID string) []byte {
	message := e.Message
	if e.Kind == dialect.ContextOverflow {
		message = overflowMessage(message)
	}
	return AppendError(dst, errorTypes[e.Kind], message, requestID)
}

// overflow begins the message by which clients recognize that a conversation is too long, and compact it (DIA-7).
const overflow = "prompt is too long"

// overflowMessage returns an upstream's message about that in the API's words.
func overflowMessage(message string) string {
	length, maximum, ok := dialect.OverflowTokens(message)
	switch {
	case ok:
		return overflow + ": " + length + " tokens > " + maximum + " maximum"
	case strings.HasPrefix(message, overflow):
		return message
	}
	return overflow + ": " + message
}

// AppendError appends the error envelope to dst (ERR-1). An empty request ID is left out.
func AppendError(dst []byte, t ErrorType, message, requestID string) []byte {
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = wire.AppendQuoted(dst, string(t))
	dst = append(dst, `,"message":`...)
	dst = wire.AppendQuoted(dst, message)
	dst = append(dst, '}')
	if requestID != "" {
		dst = append(dst, `,"request_id":`...)
		dst = wire.AppendQuoted(dst, requestID)
	}
	return append(dst, '}')
}

// ParseError implements [dialect.Outbound].
func (Dialect) ParseError(body []byte) (dialect.Error, bool) {
	t, message, ok := ParseError(body)
	if !ok {
		return dialect.Error{}, false
	}
	e := dialect.Error{Kind: kindOfError(t), Code: string(t), Message: message}
	if t == TypeInvalidRequest && dialect.IsOverflow("", message) {
		e.Kind = dialect.ContextOverflow
	}
	return e, true
}

// ParseError reads the error envelope of a response body or of an error event's data. Only an error object with a type is
// required: other members may be missing, and the body may be truncated after that object.
func ParseError(body []byte) (t ErrorType, message string, ok bool) {
	members := wire.OpenObject(body)
	for members.Next() {
		if !members.Is("error") {
			continue
		}
		t, message = "", ""
		detail := wire.OpenObject(members.Raw())
		for detail.Next() {
			switch {
			case detail.Is("type"):
				t = ErrorType(detail.Decoded())
			case detail.Is("message"):
				message = detail.Decoded()
			}
		}
	}
	if t == "" {
		return "", "", false
	}
	return t, message, true
}
