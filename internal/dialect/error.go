package dialect

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
)

// Error is an error as an upstream's response describes it.
type Error struct {
	Kind    ErrorKind
	Message string
}

// RequestError says why a body cannot be routed. The message is for the client and quotes nothing of the body.
type RequestError struct{ Message string }

func (e *RequestError) Error() string { return e.Message }
