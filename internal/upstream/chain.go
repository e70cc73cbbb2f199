package upstream

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/observe"
	"shunt/internal/relay"
)

// Link is one upstream of a chain, and the model to ask it for.
type Link struct {
	Name     string
	Upstream Upstream
	Model    string
}

// ServeChain serves a request from the first upstream that has an answer (CHN-1). The links are tried in their order; one
// link is no chain.
func ServeChain(w http.ResponseWriter, r *Request, links []Link) Outcome {
	var best Outcome
	var provider string // of best
	for i, link := range links {
		r.Model = link.Model
		r.chained, r.next = len(links) > 1, i < len(links)-1
		r.anonymous = !TakesClient(links, i)
		r.Record.Provider = link.Name
		outcome := link.Upstream.Serve(w, r)
		told := outcome.telling()
		if told == stops || !r.chained || r.gone() {
			return outcome
		}
		if told > best.telling() || told == limited && told == best.telling() && outcome.recoversBefore(&best) {
			best, provider = outcome, link.Name
		}
		if r.next {
			step := observe.Rotation{From: link.Name, Reason: outcome.reason()}
			if outcome.Failure != nil {
				step.Error = outcome.Failure.cause
			}
			r.Record.Rotations = append(r.Record.Rotations, step)
		}
	}
	if best.telling() <= unheard {
		return Outcome{Failure: &Failure{
			Status: http.StatusBadGateway, Kind: dialect.ServerError, Message: fmt.Sprintf("all upstreams failed (%d attempted)", len(links)),
		}}
	}
	r.Record.Provider = provider
	if best.held != nil {
		return r.relay(w, best.held)
	}
	return best
}

// TakesClient reports whether the client's own credential goes to a link of a chain: to the first, if it passes credentials
// through, and to another such one of the same origin if the first passes them too (CHN-4).
func TakesClient(links []Link, i int) bool {
	first, firstPasses := links[0].Upstream.PassesTo()
	this, passes := links[i].Upstream.PassesTo()
	return passes && (i == 0 || firstPasses && first == this)
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// telling is how much the end of an upstream's attempts tells the client, when a chain is used up (CHN-2). Of equals the
// first counts, except that of several 429s the one that recovers soonest does.
type telling uint8

const (
	stops     telling = iota // the chain goes no further
	unheard                  // no response: nothing to show
	emptyPool                // no account to try
	failed                   // 5xx
	notFound                 // 404
	refused                  // 401, 403
	limited                  // 429
)

func tellingOf(status int) telling {
	switch {
	case status == http.StatusTooManyRequests:
		return limited
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return refused
	case status == http.StatusNotFound:
		return notFound
	case status >= 500:
		return failed
	}
	return stops
}

func (o *Outcome) telling() telling {
	switch {
	case o.held != nil:
		return tellingOf(o.held.stands)
	case o.Failure != nil:
		return o.Failure.telling
	}
	return stops
}

// recoversBefore reports whether both 429s say when their upstreams serve again, and o's does so sooner.
func (o *Outcome) recoversBefore(other *Outcome) bool {
	wait, known := o.recovery()
	otherWait, otherKnown := other.recovery()
	return known && otherKnown && wait < otherWait
}

func (o *Outcome) recovery() (time.Duration, bool) {
	if o.held != nil {
		return o.held.recovery(time.Now())
	}
	return o.Failure.RetryAfter, true
}

// reason is why a chain went on.
func (o *Outcome) reason() string {
	if o.held != nil {
		return strconv.Itoa(o.held.stands)
	}
	return cmp.Or(o.Failure.reason, "unreachable")
}

// held is a response that an upstream ends with, of which the client has seen nothing.
type held struct {
	*kept
	commit func(http.Header) // sets the client's headers
}

// end answers with a response that was kept, or hands it back where a chain has to decide.
func (r *Request) end(w http.ResponseWriter, h *held) Outcome {
	if r.chained && tellingOf(h.stands) != stops {
		return Outcome{held: h}
	}
	return r.relay(w, h)
}

func (r *Request) relay(w http.ResponseWriter, h *held) Outcome {
	if r.gone() {
		return Outcome{}
	}
	result := relay.Relay(w, h.answer(), relay.Options{Client: r.Dialect, Upstream: h.family.Dialect, Commit: h.commit})
	r.record(h.status, result)
	return Outcome{Broken: result.Aborted}
}
