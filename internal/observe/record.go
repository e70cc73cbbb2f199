package observe

import (
	"context"
	"log/slog"
	"strconv"
	"time"
	"unicode/utf8"
)

// Record describes one request (OBS-1), for a log line at info and a JSON line of the request log: where it went and why, and
// what it cost, but nothing of its content. Empty strings are unknown and left out.
type Record struct {
	Time      time.Time `json:"time"` // of arrival
	RequestID string    `json:"request_id"`
	Session   string    `json:"session,omitempty"` // 8 hex digits of a hash
	Client    string    `json:"client,omitempty"`  // the client key that the request was sent with (AUTH-2)
	Path      string    `json:"path"`

	SessionHash uint64 `json:"-"` // the whole hash, 0 without a session

	Provider string `json:"provider,omitempty"`
	Account  string `json:"account,omitempty"` // whose response was relayed
	Why      string `json:"why,omitempty"`     // why this account was chosen
	Model    string `json:"model,omitempty"`   // as the client wrote it
	Stream   bool   `json:"stream"`
	Status   int    `json:"status"` // 0 = the client disconnected first
	End      End    `json:"end,omitempty"`

	StreamError     string `json:"stream_error,omitempty"` // with [Failed]: the type of the error event
	TruncationCause string `json:"cut_cause,omitempty"`    // with [Truncated]: one of the causes below

	Error     string     `json:"error,omitempty"` // the message, if the response is shunt's own
	Attempts  int        `json:"attempts"`        // requests sent to upstreams
	Calls     []Call     `json:"-"`               // these requests, in order
	Rotations []Rotation `json:"rotations,omitempty"`
	Move      *Move      `json:"move,omitempty"`   // of the session, by this request
	Dropped   Dropped    `json:"dropped,omitzero"` // of the request: only another account understands it
	TTFB      Millis     `json:"ttfb_ms"`          // from arrival to the first byte for the client
	Duration  Millis     `json:"duration_ms"`      // from arrival to the last byte
	BytesIn   int64      `json:"bytes_in"`         // of the request body
	BytesOut  int64      `json:"bytes_out"`        // of the response body
	Tokens    *Tokens    `json:"tokens,omitempty"` // nil = not reported
}

// Call describes one request that was sent to an upstream, for metrics and traces.
type Call struct {
	Provider, Account, Model string // Account is empty for an upstream with a single credential

	Began  time.Time
	Head   time.Duration // from Began until the head of the response was received, or the call failed
	Took   time.Duration // from Began until the call was abandoned; 0 = its response was relayed and ended with the request
	Status int           // 0 = no response
	Result string        // "success", or a reason as in a [Rotation]
}

// Rotation is one failover to another account, or to another upstream.
type Rotation struct {
	Provider string `json:"-"`    // of the account; empty = From is an upstream
	From     string `json:"from"` // the account or upstream that failed
	Reason   string `json:"reason"`
	Error    string `json:"error,omitempty"` // why there was no response
}

func (r Rotation) String() string {
	if r.Error != "" {
		return r.From + ": " + r.Reason + " (" + r.Error + ")"
	}
	return r.From + ": " + r.Reason
}

// Dropped counts the parts of a request that were not sent, since only another account understands them.
type Dropped struct {
	Reasoning int `json:"reasoning"` // pieces of reasoning of earlier turns (GPT-10b, RSP-3)
	State     int `json:"state"`     // headers with the state of a turn (GPT-11)
}

// Move is the move of a session to another account (SEL-30).
type Move struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Tokens is the usage reported in a response.
type Tokens struct {
	Input         int64 `json:"input"`
	Output        int64 `json:"output"`
	CacheRead     int64 `json:"cache_read"`
	CacheCreation int64 `json:"cache_creation"`
	Estimated     bool  `json:"estimated,omitempty"` // the upstream reported none (DIA-9)
}

// End is how a response ended; empty if it is complete.
type End string

// How a response ended if it is not complete.
const (
	Truncated  End = "cut"         // truncated: the upstream ended it after its first byte (FO-9)
	ClientGone End = "client_gone" // the client disconnected (FO-5)
	Shutdown   End = "shutdown"    // shunt stopped first
	Failed     End = "error"       // a stream with status 200 that contained an error event
)

// Why a response was truncated.
const (
	UpstreamEnded = "upstream_ended" // the connection failed or ended early
	UpstreamIdle  = "upstream_idle"  // the upstream sent nothing for too long (WIRE-12b)
)

// ResultStreamError is the result of a call whose response is a stream with status 200 that contained an error event.
const ResultStreamError = "stream_error"

// Millis is a duration that is encoded as a number of milliseconds.
type Millis time.Duration

// MarshalJSON writes milliseconds with a precision of a microsecond.
func (m Millis) MarshalJSON() ([]byte, error) {
	return appendMillis(nil, m.float()), nil
}

func appendMillis(b []byte, ms float64) []byte { return strconv.AppendFloat(b, ms, 'f', -1, 64) }

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(b []byte) error {
	ms, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return err
	}
	*m = Millis(ms * float64(time.Millisecond))
	return nil
}

func (m Millis) float() float64 { return float64(time.Duration(m).Microseconds()) / 1000 }

const requestMessage = "request"

// Limits of the strings of a record, in bytes.
const (
	maxName    = 256
	maxMessage = 1 << 10
)

// Bound shortens the strings of the record that a client, an upstream or the network chooses (RTE-2), so that code that stores
// or writes a record does not need limits of its own.
func (r *Record) Bound() {
	for _, name := range []*string{&r.Path, &r.Model, &r.StreamError} {
		*name = clip(*name, maxName)
	}
	r.Error = clip(r.Error, maxMessage)
	for i := range r.Calls {
		r.Calls[i].Model = clip(r.Calls[i].Model, maxName)
	}
	for i := range r.Rotations {
		r.Rotations[i].Error = clip(r.Rotations[i].Error, maxMessage)
	}
}

// clip returns s, or its first limit bytes at most and an ellipsis.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "..."
}

// Log writes the record as one line at info, with the names of its JSON form.
func (r *Record) Log(ctx context.Context, log *slog.Logger) {
	handler := log.Handler()
	if !handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	if h, ok := handler.(*jsonHandler); ok {
		h.write(r)
		return
	}
	var room [maxAttrs]slog.Attr
	log.LogAttrs(ctx, slog.LevelInfo, requestMessage, r.appendAttrs(room[:0])...)
}

// maxAttrs is the most attributes that a record has.
const maxAttrs = 23

// appendAttrs appends the fields of the record except its time, with the names and in the order of its JSON form.
func (r *Record) appendAttrs(attrs []slog.Attr) []slog.Attr {
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	attrs = append(attrs, slog.String("request_id", r.RequestID))
	text("session", r.Session)
	text("client", r.Client)
	attrs = append(attrs, slog.String("path", r.Path))
	text("provider", r.Provider)
	text("account", r.Account)
	text("why", r.Why)
	text("model", r.Model)
	attrs = append(attrs, slog.Bool("stream", r.Stream), slog.Int("status", r.Status))
	text("end", string(r.End))
	text("stream_error", r.StreamError)
	text("cut_cause", r.TruncationCause)
	text("error", r.Error)
	attrs = append(attrs, slog.Int("attempts", r.Attempts))
	if len(r.Rotations) > 0 {
		attrs = append(attrs, slog.Any("rotations", r.Rotations))
	}
	if m := r.Move; m != nil {
		attrs = append(attrs, slog.GroupAttrs("move", slog.String("from", m.From), slog.String("to", m.To), slog.String("reason", m.Reason)))
	}
	if d := r.Dropped; d != (Dropped{}) {
		attrs = append(attrs, slog.GroupAttrs("dropped", slog.Int("reasoning", d.Reasoning), slog.Int("state", d.State)))
	}
	attrs = append(attrs,
		slog.Float64("ttfb_ms", r.TTFB.float()), slog.Float64("duration_ms", r.Duration.float()),
		slog.Int64("bytes_in", r.BytesIn), slog.Int64("bytes_out", r.BytesOut))
	if t := r.Tokens; t != nil {
		tokens := []slog.Attr{
			slog.Int64("input", t.Input), slog.Int64("output", t.Output),
			slog.Int64("cache_read", t.CacheRead), slog.Int64("cache_creation", t.CacheCreation),
		}
		if t.Estimated {
			tokens = append(tokens, slog.Bool("estimated", true))
		}
		attrs = append(attrs, slog.GroupAttrs("tokens", tokens...))
	}
	return attrs
}
