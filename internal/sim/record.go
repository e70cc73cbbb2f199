package sim

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"shunt/internal/sim/engine"
)

// Request is a request as the provider received it, with its outcome.
type Request struct {
	Seq      int64 // number of the request, from 0
	Received time.Time
	Conn     string // the client's address: the same for requests on the same connection
	Method   string
	Path     string // as it was sent, with the query
	Host     string
	Header   http.Header

	Body       []byte // only with Config.RecordBodies
	BodyLength int
	BodyHash   [sha256.Size]byte

	// From the body of an inference request; empty for others.
	Model       string
	Stream      bool
	AccountUUID string // from the object in metadata.user_id

	Account string // the account of its credential, even an expired one; empty if unknown
	Fault   string // name of the fault that hit it
	Status  int    // 0: no response was sent
	Outcome Outcome
}

// Session returns the id of the session that the request belongs to, from its header.
func (r Request) Session() string { return r.Header.Get(sessionHeader) }

const sessionHeader = "X-Claude-Code-Session-Id"

// The outcomes.
const (
	Running  = engine.Running
	Complete = engine.Complete
	Canceled = engine.Canceled
	Aborted  = engine.Aborted
)

// Tokens counts the tokens that requests used.
type Tokens struct {
	Input         int64 `json:"input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	Output        int64 `json:"output_tokens"`
}

// Prompt returns the tokens of the whole prompt, cached or not.
func (t Tokens) Prompt() int64 { return t.Input + t.CacheCreation + t.CacheRead }

func (t *Tokens) add(o Tokens) {
	t.Input += o.Input
	t.CacheCreation += o.CacheCreation
	t.CacheRead += o.CacheRead
	t.Output += o.Output
}

// Counters count ended requests.
type Counters struct {
	Requests  int64
	ByStatus  map[int]int64 // 0: no response was sent
	Canceled  int64
	Aborted   int64
	Refreshes int64 // completed token refreshes, even if the response was lost
	Tokens    Tokens
}

func (c *Counters) count(x *exchange) {
	c.Requests++
	c.ByStatus[x.status]++
	c.Tokens.add(x.tokens)
	switch x.outcome {
	case Canceled:
		c.Canceled++
	case Aborted:
		c.Aborted++
	}
	if x.refreshed {
		c.Refreshes++
	}
}

func (c Counters) clone() Counters {
	c.ByStatus = maps.Clone(c.ByStatus)
	return c
}

// recorder keeps the most recent requests in a ring.
type recorder struct {
	ring  []Request
	next  int64 // Seq of the next request
	total Counters
}

func newRecorder(limit int) recorder {
	return recorder{ring: make([]Request, limit), total: Counters{ByStatus: map[int]int64{}}}
}

func (r *recorder) at(seq int64) *Request { return &r.ring[seq%int64(len(r.ring))] }

// Requests returns the recorded requests in the order of their arrival, including those still running.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Request
	for seq := max(0, p.log.next-int64(len(p.log.ring))); seq < p.log.next; seq++ {
		list = append(list, *p.log.at(seq))
	}
	return list
}

// Counters returns the counters of the account, or of all requests if account is empty.
func (p *Provider) Counters(account string) Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	if account == "" {
		return p.log.total.clone()
	}
	return p.account(account).counters.clone()
}

// begin records the request.
func (x *exchange) begin() {
	record := Request{
		Received:    x.p.config.Clock.Now(),
		Conn:        x.r.RemoteAddr,
		Method:      x.r.Method,
		Path:        x.r.RequestURI,
		Host:        x.r.Host,
		Header:      x.r.Header.Clone(),
		BodyLength:  len(x.body),
		BodyHash:    sha256.Sum256(x.body),
		Model:       x.prompt.Model,
		Stream:      x.prompt.Stream,
		AccountUUID: x.prompt.accountUUID(),
	}
	if x.p.config.RecordBodies {
		record.Body = x.body
	}
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	x.seq = x.p.log.next
	x.p.log.next++
	x.id = fmt.Sprintf("req_%s%06d", engine.Hex(engine.Rand(x.p.config.Seed, "request", fmt.Sprint(x.seq)), 8), x.seq)
	record.Seq = x.seq
	*x.p.log.at(x.seq) = record
}

// finish completes the record.
func (x *exchange) finish() {
	if x.outcome == Running {
		x.outcome = Aborted
		if x.r.Context().Err() != nil {
			x.outcome = Canceled
		}
	}
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	x.p.log.total.count(x)
	record := x.p.log.at(x.seq)
	if record.Seq != x.seq {
		record = &Request{} // its slot holds a newer request
	}
	record.Fault, record.Status, record.Outcome = x.fault.name, x.status, x.outcome
	if x.account != nil {
		record.Account = x.account.Name
		x.account.counters.count(x)
	}
}

// accountUUID returns the account_uuid in metadata.user_id, or "".
func (p prompt) accountUUID() string {
	var user struct {
		AccountUUID string `json:"account_uuid"`
	}
	if json.Unmarshal([]byte(p.Metadata.UserID), &user) != nil {
		return ""
	}
	return user.AccountUUID
}
