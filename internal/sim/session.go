package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"shunt/internal/clock"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
)

// Session is a simulated coding session: a client that posts turns of a growing conversation, reads every response to its
// end and verifies it. Only BaseURL is required; the zero value of every other field is usable.
type Session struct {
	BaseURL string       // without a trailing slash
	Client  *http.Client // nil: Run creates one
	Clock   clock.Clock
	// Seed and Name determine the session's id, texts, pauses and choice of models.
	Seed uint64
	Name string

	Token       string // sent as a bearer; empty means "simulated"
	AccountUUID string // in the metadata; empty means one derived from Seed and Name

	Model      string  // empty means claude-sonnet-4-5
	Fable      string  // the model of the Fable family; empty means claude-fable-5
	FableShare float64 // fraction of turns that use Fable
	PlainShare float64 // fraction of turns that request a plain response

	Turns int           // number of turns; 0 means until the context ends
	Burst Range         // turns in quick succession, as with tool calls; zero means 1
	Gap   time.Duration // between the turns of a burst
	Think Pause         // between bursts

	Context int   // bytes of system prompt and tools; zero means 100 kB, about what Claude Code sends
	Growth  Range // bytes that each turn adds; zero means 1 to 4 kB

	// OnTurn, if not nil, is called after every turn, on Run's goroutine.
	OnTurn func(Turn)
}

// Pause is an inclusive range of durations on the session's clock.
type Pause struct{ Min, Max time.Duration }

func (p Pause) pick(rng *rand.Rand) time.Duration {
	if p.Max <= p.Min {
		return p.Min
	}
	return p.Min + time.Duration(rng.Int64N(int64(p.Max-p.Min)+1))
}

// minFailurePause is the shortest pause after a failed turn, so that a session does not hammer a gateway that is down.
const minFailurePause = time.Second

// ID returns the session's id, which its requests carry in a header.
func (s Session) ID() string { return engine.UUID(engine.Rand(s.Seed, "session", s.Name)) }

// Run runs the session until its turns are done or ctx ends. It stops as soon as ctx ends and does not report the turn that
// was interrupted.
func (s Session) Run(ctx context.Context) Report {
	s.defaults()
	if s.Client == nil {
		transport := &http.Transport{DisableCompression: true}
		defer transport.CloseIdleConnections()
		s.Client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	r := engine.Rand(s.Seed, "turns", s.Name)
	accountUUID := s.AccountUUID
	if accountUUID == "" {
		accountUUID = engine.UUID(r)
	}
	conv := newConversation(s.ID(), accountUUID, s.Context, r)
	report := newReport()
	burst := s.Burst.Pick(r)
	for n := 1; s.Turns == 0 || n <= s.Turns; n++ {
		turn := s.turn(ctx, conv, r, n)
		if ctx.Err() != nil {
			break
		}
		report.add(turn)
		if s.OnTurn != nil {
			s.OnTurn(turn)
		}
		pause := s.Gap
		if burst--; burst <= 0 {
			pause, burst = s.Think.pick(r), s.Burst.Pick(r)
		}
		if turn.Err != nil {
			pause = max(pause, minFailurePause)
		}
		if n != s.Turns && s.Clock.Sleep(ctx, pause) != nil {
			break
		}
	}
	return report
}

func (s *Session) defaults() {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&s.Token, "simulated")
	set(&s.Model, "claude-sonnet-4-5")
	set(&s.Fable, "claude-fable-5")
	if s.Burst == (Range{}) {
		s.Burst = Range{Min: 1, Max: 1}
	}
	if s.Context == 0 {
		s.Context = 100 << 10
	}
	if s.Growth == (Range{}) {
		s.Growth = Range{Min: 1 << 10, Max: 4 << 10}
	}
}

// Turn is one turn as the client saw it.
type Turn struct {
	Number int // from 1
	Model  string
	Stream bool // whether the last request was for a stream
	Resent bool // the stream was truncated and the turn sent again without one
	Sent   int  // body size in bytes

	Status    int           // 0: no response arrived
	Account   string        // x-shunt-account
	FirstByte time.Duration // of the last request, on the session's clock
	Total     time.Duration // likewise
	Usage     Tokens
	Pings     int
	Err       error // nil: the response is complete and verified
}

// DamagedError reports a complete response that is not the one the provider sent for this prompt.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return "damaged response: " + e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

// turn sends a user message and appends the response to the conversation. A failed turn leaves the conversation as it was.
// Like Claude Code, it sends a turn whose stream was truncated once more, without a stream.
func (s *Session) turn(ctx context.Context, conv *conversation, r *rand.Rand, n int) Turn {
	t := Turn{Number: n, Model: s.Model, Stream: r.Float64() >= s.PlainShare}
	if r.Float64() < s.FableShare {
		t.Model = s.Fable
	}
	before := conv.messages
	conv.appendUser(s.Growth.Pick(r))
	response := s.send(ctx, conv, &t)
	if t.Stream && errors.Is(t.Err, ErrTruncated) {
		t.Stream, t.Resent = false, true
		response = s.send(ctx, conv, &t)
	}
	if t.Err != nil {
		conv.messages = before
		return t
	}
	conv.appendAssistant(response)
	return t
}

// send sends one request for the turn and records the outcome in t.
func (s *Session) send(ctx context.Context, conv *conversation, t *Turn) Response {
	body := conv.body(t.Model, t.Stream)
	t.Sent, t.Status, t.Account, t.Err = len(body), 0, "", nil
	start := s.Clock.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.BaseURL+MessagesPath+"?beta=true", bytes.NewReader(body))
	if err != nil {
		t.Err = fmt.Errorf("create request: %w", err)
		return Response{}
	}
	req.Header = conv.headers(s.Token)
	resp, err := s.Client.Do(req)
	if err != nil {
		t.Err = fmt.Errorf("send turn: %w", err)
		return Response{}
	}
	defer resp.Body.Close()
	t.Status, t.Account = resp.StatusCode, resp.Header.Get("X-Shunt-Account")
	resp.Body = &timedBody{ReadCloser: resp.Body, first: func() { t.FirstByte = s.Clock.Now().Sub(start) }}
	response, err := ReadResponse(resp)
	t.Total, t.Usage, t.Pings = s.Clock.Now().Sub(start), response.Usage, response.Pings
	if err == nil {
		err = response.Verify(body)
	}
	var apiErr *APIError
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.As(err, &apiErr) {
		err = &DamagedError{err}
	}
	t.Err = err
	return response
}

// timedBody calls first when the first byte arrives.
type timedBody struct {
	io.ReadCloser
	first func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.first != nil {
		b.first()
		b.first = nil
	}
	return n, err
}

// limited reports whether the error is a quota rejection, which Claude Code shows as a limit and does not retry.
func (e *APIError) limited() bool {
	return e.Status == http.StatusTooManyRequests && e.Header.Get(messages.StatusHeader) == rejected
}
