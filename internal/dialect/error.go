package dialect

import "time"

// ErrorKind is what an error means, in whichever dialect (ERR-1).
type ErrorKind uint8

// The kinds of errors. UnknownError is an error that shunt neither sends nor acts on.
const (
	NoError ErrorKind = iota
	InvalidRequest
	Authentication
	Permission
	NotFound
	TooLarge
	RateLimit
	ServerError
	Overloaded
	Timeout
	UnknownError

	// Special cases of the above, for clients whose dialect distinguishes them.
	ContextOverflow // InvalidRequest: the conversation is too long for the model (DIA-7)
	QuotaExhausted  // RateLimit: the quota of an account, or of the whole pool, is used up (GPT-12)
	NoAccount       // ServerError: no account may serve, since nobody has logged in or all are disabled (GPT-12)
)

// FailsBeforeResponse reports whether a stream that begins with such an error counts as a failure, and not as a response (FO-11,
// FAM-7).
func (k ErrorKind) FailsBeforeResponse() bool {
	switch k {
	case QuotaExhausted, RateLimit, Overloaded, ServerError:
		return true
	}
	return false
}

// Error is an error as an upstream's response describes it, or as shunt reports one to a client.
type Error struct {
	Kind    ErrorKind
	Status  int    // the HTTP status; 0 if it is not known
	Code    string // in the upstream's words, such as "usage_limit_reached"; may be empty
	Message string

	// When the upstream serves again, if the error says so: a time, a duration from now, or neither.
	Resets     time.Time
	RetryAfter time.Duration
}

// TruncatedMessage is the message of the error with which a response ends whose upstream ended it early (DIA-8).
const TruncatedMessage = "the upstream ended its answer early"

// Truncated returns the last event of a response that ended before the upstream's last event (DIA-8).
func Truncated() Event {
	return Event{Kind: Failed, Truncated: true, Err: &Error{Kind: ServerError, Message: TruncatedMessage}}
}

// RequestError says why a body cannot be routed or translated. The message is for the client and quotes nothing of the body but
// the names of members.
type RequestError struct{ Message string }

func (e *RequestError) Error() string { return e.Message }
