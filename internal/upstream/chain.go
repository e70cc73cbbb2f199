package upstream

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/observe"
	"shunt/internal/relay"
)

// Link is one upstream of a chain, and the model to request from it.
type Link struct {
	Name     string
	Upstream Upstream
	Model    string
}

// ServeChain serves a request from the first upstream that can (CHN-1). It tries the links in their order; a single link is not
// a chain.
func ServeChain(w http.ResponseWriter, r *Request, links []Link) Outcome {
	if r.Scan.Stream && !r.CountsTokens && slices.ContainsFunc(links, r.mayBeginEarly) {
		r.client = relay.NewClient(w, r.Dialect, r.Times.KeepAlive)
		defer r.client.Close()
	}
	return r.settle(serveLinks(w, r, links))
}

// mayBeginEarly reports whether the client may get the head of its response before the upstream responds (FAM-8).
func (r *Request) mayBeginEarly(l Link) bool {
	if l.Upstream.Dialect().Name() != r.Dialect.Name() {
		return true
	}
	return l.Upstream.HasAccounts() && r.Times.CommitNative
}

func serveLinks(w http.ResponseWriter, r *Request, links []Link) Outcome {
	var best Outcome
	var provider string // of best
	for i, link := range links {
		r.Model = link.Model
		r.chained, r.next = len(links) > 1, i < len(links)-1
		r.withoutCredential = !TakesClient(links, i)
		r.Record.Provider = link.Name
		outcome := link.Upstream.Serve(w, r)
		got := outcome.severity()
		if got == final || !r.chained || r.gone() {
			return outcome
		}
		if got > best.severity() || got == rateLimited && got == best.severity() && outcome.recoversBefore(&best) {
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
	if best.severity() <= noResponse {
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

// TakesClient reports whether a link of a chain receives the client's own credential. The first link does if it passes
// credentials through; another one does if, in addition, the first passes them to the same origin (CHN-4).
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

// severity orders the outcomes of upstreams: when a chain is used up, the client gets the one of highest severity (CHN-2). Among
// equals that is the first, and among 429s the one that recovers soonest.
type severity uint8

const (
	final       severity = iota // the chain goes no further
	noResponse                  // there was no response
	unsendable                  // the request cannot be translated for it
	emptyPool                   // no account to try
	failed                      // 5xx
	notFound                    // 404
	refused                     // 401, 403
	rateLimited                 // 429
)

func severityOf(status int) severity {
	switch {
	case status == http.StatusTooManyRequests:
		return rateLimited
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return refused
	case status == http.StatusNotFound:
		return notFound
	case status >= 500:
		return failed
	}
	return final
}

func (o *Outcome) severity() severity {
	switch {
	case o.held != nil:
		return severityOf(o.held.effectiveStatus)
	case o.Failure != nil:
		return o.Failure.severity
	}
	return final
}

// recoversBefore reports whether both 429s say when their upstreams serve again, and o's upstream does so sooner.
func (o *Outcome) recoversBefore(other *Outcome) bool {
	wait, known := o.recovery()
	otherWait, otherKnown := other.recovery()
	return known && otherKnown && wait < otherWait
}

func (o *Outcome) recovery() (time.Duration, bool) {
	if o.held != nil {
		return o.held.recovery(time.Now())
	}
	return o.Failure.RetryAfter, o.Failure.RetryAfter > 0
}

// reason returns why a chain continued.
func (o *Outcome) reason() string {
	if o.held != nil {
		return strconv.Itoa(o.held.effectiveStatus)
	}
	return cmp.Or(o.Failure.reason, "unreachable")
}

// held is the response that an upstream ends with, before the client has received any of it.
type held struct {
	*kept
	commit  func(http.Header) // sets the client's headers
	foreign bool              // it is in another dialect than the client's
}

// end relays a response that was kept, or returns it if a chain has to decide.
func (r *Request) end(w http.ResponseWriter, h *held) Outcome {
	if r.chained && severityOf(h.effectiveStatus) != final {
		return Outcome{held: h}
	}
	return r.relay(w, h)
}

func (r *Request) relay(w http.ResponseWriter, h *held) Outcome {
	if r.gone() {
		return Outcome{}
	}
	if r.holds() || h.foreign {
		h.commit(w.Header())
		return Outcome{Failure: h.asFailure(time.Now())}
	}
	result := relay.Relay(w, h.response(), relay.Options{Dialect: r.Dialect, Commit: h.commit})
	r.record(h.status, result)
	return Outcome{Aborted: result.Aborted}
}
