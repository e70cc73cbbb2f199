package observe

import (
	"context"
	"log/slog"
	"strconv"
	"time"
	"unicode/utf8"
)

// Record is what is kept of one request (OBS-1), as a log line at info and as one JSON line of the request log. It tells
// where a request went and why, and what it cost; never what was said. Texts that are empty are unknown and left out.
type Record struct {
	Time      time.Time `json:"time"` // of arrival
	RequestID string    `json:"request_id"`
	Session   string    `json:"session,omitempty"` // 8 hex digits of a hash
	Client    string    `json:"client,omitempty"`  // whose token of shunt's came with the request (AUTH-2)
	Path      string    `json:"path"`

	SessionHash uint64 `json:"-"` // the whole of the hash, 0 without a session

	Provider string `json:"provider,omitempty"`
	Account  string `json:"account,omitempty"` // the one whose answer was relayed
	Why      string `json:"why,omitempty"`     // why that account
	Model    string `json:"model,omitempty"`   // as the client wrote it
	Stream   bool   `json:"stream"`
	Status   int    `json:"status"` // 0: the client left before there was one
	End      End    `json:"end,omitempty"`

	StreamError string `json:"stream_error,omitempty"` // with [Failed]: the type that the error event has
	CutCause    string `json:"cut_cause,omitempty"`    // with [Cut]: one of the causes below

	Error     string     `json:"error,omitempty"` // the message of shunt's own answer
	Attempts  int        `json:"attempts"`        // calls of an upstream
	Calls     []Call     `json:"-"`               // these calls, in their order
	Rotations []Rotation `json:"rotations,omitempty"`
	Move      *Move      `json:"move,omitempty"`   // of the session, with this request
	TTFB      Millis     `json:"ttfb_ms"`          // from arrival to the first byte for the client
	Duration  Millis     `json:"duration_ms"`      // from arrival to the last byte
	BytesIn   int64      `json:"bytes_in"`         // of the request body
	BytesOut  int64      `json:"bytes_out"`        // of the answer's body
	Tokens    *Tokens    `json:"tokens,omitempty"` // nil: the answer did not tell
}

// Call is one call of an upstream, for metrics and traces.
type Call struct {
	Provider, Account, Model string // no Account where there is but one credential; the model that was asked for

	Began  time.Time
	Head   time.Duration // from there until the head of the answer came, or it was clear that none would
	Took   time.Duration // until the call was given up; 0: its answer is the client's, and it ends with the request
	Status int           // 0: there was no answer
	Result string        // what that meant: "success", or a reason such as those of rotations
}

// Rotation is one step to another account, or to another upstream.
type Rotation struct {
	Provider string `json:"-"`    // of the account; empty: From is an upstream
	From     string `json:"from"` // what was left
	Reason   string `json:"reason"`
	Error    string `json:"error,omitempty"` // why there was no answer
}

func (r Rotation) String() string {
	if r.Error != "" {
		return r.From + ": " + r.Reason + " (" + r.Error + ")"
	}
	return r.From + ": " + r.Reason
}

// Move is a session's change of account (SEL-30).
type Move struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Tokens is the usage that an answer reported.
type Tokens struct {
	Input         int64 `json:"input"`
	Output        int64 `json:"output"`
	CacheRead     int64 `json:"cache_read"`
	CacheCreation int64 `json:"cache_creation"`
}

// End says how an answer ended; empty is a whole one.
type End string

// The ends that are no whole answer.
const (
	Cut        End = "cut"         // it was truncated: the upstream ended it early, after its first byte (FO-9)
	ClientGone End = "client_gone" // the client left before its end (FO-5)
	Shutdown   End = "shutdown"    // shunt did not let it finish before it stopped
	Failed     End = "error"       // it is a stream of status 200 with an error event
)

// Why a response was truncated.
const (
	CutByUpstream = "upstream_ended" // its connection failed, or ended too soon
	CutIdle       = "upstream_idle"  // it sent nothing for too long (WIRE-12b)
)

// ResultStreamError is the result of a call whose response has status 200 and an error event in its stream.
const ResultStreamError = "stream_error"

// Millis is a duration that is written as a number of milliseconds.
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

// Bounds of the texts of a record, in bytes.
const (
	maxName    = 256
	maxMessage = 1 << 10
)

// Bound shortens the texts of the record that a client, an upstream or the network chooses (RTE-2), so that what keeps
// or writes it needs no bounds of its own.
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

// clip returns at most limit bytes of s, and an ellipsis if that is not all.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "..."
}

// Log writes the record as one line at info, under the names of its JSON form.
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

// maxAttrs is the number of attributes that a record has at most.
const maxAttrs = 22

// appendAttrs appends everything of the record but its time, under the names and in the order of its JSON form.
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
	text("cut_cause", r.CutCause)
	text("error", r.Error)
	attrs = append(attrs, slog.Int("attempts", r.Attempts))
	if len(r.Rotations) > 0 {
		attrs = append(attrs, slog.Any("rotations", r.Rotations))
	}
	if m := r.Move; m != nil {
		attrs = append(attrs, slog.GroupAttrs("move", slog.String("from", m.From), slog.String("to", m.To), slog.String("reason", m.Reason)))
	}
	attrs = append(attrs,
		slog.Float64("ttfb_ms", r.TTFB.float()), slog.Float64("duration_ms", r.Duration.float()),
		slog.Int64("bytes_in", r.BytesIn), slog.Int64("bytes_out", r.BytesOut))
	if t := r.Tokens; t != nil {
		attrs = append(attrs, slog.GroupAttrs("tokens",
			slog.Int64("input", t.Input), slog.Int64("output", t.Output),
			slog.Int64("cache_read", t.CacheRead), slog.Int64("cache_creation", t.CacheCreation)))
	}
	return attrs
}
