package dialect

import (
	"unicode/utf8"

	"shunt/internal/wire"
)

// MaxModel is the maximum length of a model's name, in bytes (RTE-2).
const MaxModel = 256

// Request is the part of a request body that routing needs.
type Request struct {
	// Model is the decoded model, of 1 to [MaxModel] bytes. It is a copy: it may outlive a pooled body.
	Model string
	// ModelSpan covers the model's string literal, including the quotes.
	ModelSpan wire.Span
	// Stream is set if the client requests the response as a stream of events.
	Stream bool
	// ToolModels are the decoded models of tools that have one, such as an advisor, in their order: the first four of at most
	// [MaxModel] bytes (SEL-4b). Almost every request has none.
	ToolModels []string
	// AccountUUID covers the account's UUID in its escaped form (WIRE-6). It is zero if there is none.
	AccountUUID wire.Span
	// Session covers the session's ID in its escaped form. It is zero if there is none (SES-1).
	Session wire.Span
	// SessionNested is set if the session's ID is part of a JSON document within a string, and so is escaped twice.
	SessionNested bool
}

// maxSession is the maximum length of a session's ID, in bytes. Longer ones are truncated: an ID is only a key.
const maxSession = 256

// SessionID returns the session of the scanned body, at most the first 256 bytes of its ID, or "" (SES-1).
func (r *Request) SessionID(body []byte) string {
	var buf, again [maxSession + utf8.UTFMax]byte
	id, _ := wire.Unescape(buf[:0], r.Session.Of(body), maxSession)
	if r.SessionNested {
		id, _ = wire.Unescape(again[:0], id, maxSession)
	}
	return string(id[:min(len(id), maxSession)])
}
