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
)

// Coder is one simulated coding session: a client that posts turns of a growing conversation, reads every answer to its
// end and verifies it. Only BaseURL is needed. The zero value of every other field is usable.
type Coder struct {
	BaseURL string       // without a trailing slash
	Client  *http.Client // nil: one of its own
	Clock   clock.Clock
	// Seed and Name make the session: its id, its texts, its pauses and its choice of models.
	Seed uint64
	Name string

	Token       string // sent as a bearer; empty means "simulated"
	AccountUUID string // in the metadata; empty means one of its own

	Model      string  // empty means claude-sonnet-4-5
	Fable      string  // the model of the Fable family; empty means claude-fable-5
	FableShare float64 // the fraction of turns that use it
	PlainShare float64 // the fraction of turns that ask for no stream

	Turns int           // how many; 0 means until the context ends
	Burst Range         // turns that follow each other closely, as when tools are called; zero means 1
	Gap   time.Duration // between the turns of a burst
	Think Pause         // between bursts

	Context int   // bytes of the system prompt and the tools; zero means 100 kB, about what Claude Code sends
	Growth  Range // bytes that a turn adds; zero means 1 to 4 kB

	// OnTurn, if not nil, is called after every turn, from the goroutine of Run.
	OnTurn func(Turn)
}

// Pause is an inclusive range of durations of a clock.
type Pause struct{ Min, Max time.Duration }

func (p Pause) pick(rng *rand.Rand) time.Duration {
	if p.Max <= p.Min {
		return p.Min
	}
	return p.Min + time.Duration(rng.Int64N(int64(p.Max-p.Min)+1))
}

// afterFailure is the least time before the next turn, so that a dead gateway is not hammered.
const afterFailure = time.Second

// Session is the session's id, as its header carries it.
func (c Coder) Session() string { return randomUUID(rng(c.Seed, "session", c.Name)) }

// Run plays the session until its turns are done or the context ends, which it obeys at once; a turn that the context
// interrupts is not reported.
func (c Coder) Run(ctx context.Context) Report {
	c.defaults()
	if c.Client == nil {
		transport := &http.Transport{DisableCompression: true}
		defer transport.CloseIdleConnections()
		c.Client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	r := rng(c.Seed, "coder", c.Name)
	accountUUID := c.AccountUUID
	if accountUUID == "" {
		accountUUID = randomUUID(r)
	}
	d := newDialog(c.Session(), accountUUID, c.Context, r)
	report := newReport()
	burst := c.Burst.pick(r)
	for n := 1; c.Turns == 0 || n <= c.Turns; n++ {
		turn := c.turn(ctx, d, r, n)
		if ctx.Err() != nil {
			break
		}
		report.add(turn)
		if c.OnTurn != nil {
			c.OnTurn(turn)
		}
		pause := c.Gap
		if burst--; burst <= 0 {
			pause, burst = c.Think.pick(r), c.Burst.pick(r)
		}
		if turn.Err != nil {
			pause = max(pause, afterFailure)
		}
		if n != c.Turns && c.Clock.Sleep(ctx, pause) != nil {
			break
		}
	}
	return report
}

func (c *Coder) defaults() {
	set := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	set(&c.Token, "simulated")
	set(&c.Model, "claude-sonnet-4-5")
	set(&c.Fable, "claude-fable-5")
	if c.Burst == (Range{}) {
		c.Burst = Range{1, 1}
	}
	if c.Context == 0 {
		c.Context = 100 << 10
	}
	if c.Growth == (Range{}) {
		c.Growth = Range{1 << 10, 4 << 10}
	}
}

// Turn is one turn as the client saw it.
type Turn struct {
	Number int // from 1
	Model  string
	Stream bool // what was asked for last
	Resent bool // the stream was cut, and the turn was sent again without one
	Sent   int  // bytes of the body

	Status    int    // 0: no answer was begun
	Account   string // x-shunt-account
	FirstByte time.Duration
	Total     time.Duration // both of the sending that counts, on the coder's clock
	Usage     Tokens
	Pings     int
	Err       error // nil: answered and verified
}

// DamagedError is an answer that came to its end and is not what the provider sent for this prompt.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return "damaged answer: " + e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

// turn says something and takes the answer into the conversation. A turn that failed stays unsaid. As Claude Code does,
// it sends a turn whose stream was cut once more, without a stream.
func (c *Coder) turn(ctx context.Context, d *dialog, r *rand.Rand, n int) Turn {
	t := Turn{Number: n, Model: c.Model, Stream: r.Float64() >= c.PlainShare}
	if r.Float64() < c.FableShare {
		t.Model = c.Fable
	}
	before := d.said
	d.say(c.Growth.pick(r))
	answer := c.send(ctx, d, &t)
	if t.Stream && errors.Is(t.Err, ErrCut) {
		t.Stream, t.Resent = false, true
		answer = c.send(ctx, d, &t)
	}
	if t.Err != nil {
		d.said = before
		return t
	}
	d.hear(answer)
	return t
}

// send sends the turn and records in t how it went.
func (c *Coder) send(ctx context.Context, d *dialog, t *Turn) Answer {
	body := d.body(t.Model, t.Stream)
	t.Sent, t.Status, t.Account, t.Err = len(body), 0, "", nil
	start := c.Clock.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BaseURL+MessagesPath+"?beta=true", bytes.NewReader(body))
	if err != nil {
		t.Err = fmt.Errorf("make a request: %w", err)
		return Answer{}
	}
	req.Header = d.headers(c.Token)
	resp, err := c.Client.Do(req)
	if err != nil {
		t.Err = fmt.Errorf("send a turn: %w", err)
		return Answer{}
	}
	defer resp.Body.Close()
	t.Status, t.Account = resp.StatusCode, resp.Header.Get("X-Shunt-Account")
	resp.Body = &timedBody{ReadCloser: resp.Body, first: func() { t.FirstByte = c.Clock.Now().Sub(start) }}
	answer, err := ReadAnswer(resp)
	t.Total, t.Usage, t.Pings = c.Clock.Now().Sub(start), answer.Usage, answer.Pings
	if err == nil {
		err = answer.Verify(body)
	}
	var refusal *Refusal
	if err != nil && !errors.Is(err, ErrCut) && !errors.As(err, &refusal) {
		err = &DamagedError{err}
	}
	t.Err = err
	return answer
}

// timedBody tells when the first byte came.
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

// limited reports whether a refusal is one that Claude Code shows as a limit and does not retry.
func (e *Refusal) limited() bool {
	return e.Status == http.StatusTooManyRequests && messages.ParseRateLimit(e.Header).Status == rejected
}
