package responses

import (
	"net/http"
	"time"

	"shunt/internal/dialect"
)

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
	return append(dialect.AppendOpenError(append(dst, `{"error":`...), e), '}')
}

// AppendErrorEvent implements [dialect.Inbound]: Codex takes a response.failed for what it is, and not an error event alone
// (GPT-12).
func (Dialect) AppendErrorEvent(dst []byte, e *dialect.Error) []byte {
	dst = append(dst, "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":0,\"response\":{\"id\":\"resp_0\",\"object\":\"response\",\"status\":\"failed\",\"output\":[],\"error\":"...)
	return append(dialect.AppendOpenError(dst, e), "}}\n\n"...)
}

// ParseError implements [dialect.Outbound].
func (Dialect) ParseError(body []byte) (dialect.Error, bool) { return dialect.ParseOpenError(body) }
