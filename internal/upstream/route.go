package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/internal/account"
	"shunt/internal/family"
	"shunt/internal/hosts"
	"shunt/internal/identity"
	"shunt/internal/secret"
)

const (
	routeWait    = 3 * time.Second  // how long a request waits for the route of its account
	routeTimeout = 10 * time.Second // of the request for a route
	routeLife    = 24 * time.Hour   // after which a route is requested again
	routeRetry   = 10 * time.Minute // the same after a failure
	maxRoute     = 1 << 20          // bytes that are read of a response
)

// live is what is known of accounts beyond their health and their credentials. It survives every reload.
type live struct {
	sticky *sticky

	ctx     context.Context // of requests for routes
	cancel  context.CancelFunc
	fetches sync.WaitGroup

	mu     sync.Mutex // never held across I/O
	routes map[routeKey]*route
}

func newLive() *live {
	ctx, cancel := context.WithCancel(context.Background())
	return &live{sticky: newSticky(), ctx: ctx, cancel: cancel, routes: map[routeKey]*route{}}
}

// close ends the requests for routes, and waits for their end.
func (l *live) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.fetches.Wait()
}

type routeKey struct {
	identity.Key
	base string
}

// route is where the requests of an account go at a base URL.
type route struct {
	destination
	known    bool          // it has been requested, with whatever result
	due      time.Time     // when to request it again
	fetching chan struct{} // closed when the request in flight ends; nil: there is none
}

// destination is where a request goes, and what its header says about that.
type destination struct {
	*endpoint
	override string
}

// appendOverride appends the header line of the route. The client's own line is about its own account (GPT-10).
func (d destination) appendOverride(dst []field, f *family.Family) []field {
	if f.Route == nil {
		return dst
	}
	return append(dst, field{f.Route.Header, d.override})
}

// routeOf returns where the requests of an account go (GPT-4b). It requests that on the account's first use, for which it waits
// at most [routeWait], and daily, for which it does not wait.
func (p *Pool) routeOf(ctx context.Context, a *account.Account, token secret.String) destination {
	if p.family.Route == nil {
		return destination{endpoint: &p.endpoint}
	}
	l := p.transport.live
	l.mu.Lock()
	key := routeKey{a.Key(), p.baseText}
	r := l.routes[key]
	if r == nil {
		r = &route{destination: destination{endpoint: &p.endpoint}}
		l.routes[key] = r
	}
	if r.fetching == nil && !p.clock.Now().Before(r.due) && l.ctx.Err() == nil {
		r.fetching = make(chan struct{})
		l.fetches.Go(func() { p.updateRoute(r, a, token) })
	}
	to, known, fetching := r.destination, r.known, r.fetching
	l.mu.Unlock()
	if known || fetching == nil {
		return to
	}
	timer := time.NewTimer(p.clock.Scale(routeWait))
	defer timer.Stop()
	select {
	case <-fetching:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.destination
}

// updateRoute requests a route. After a failure, the account's requests go to the base URL.
func (p *Pool) updateRoute(r *route, a *account.Account, token secret.String) {
	l := p.transport.live
	ctx, cancel := context.WithTimeout(l.ctx, p.clock.Scale(routeTimeout))
	defer cancel()
	to, err := p.fetchRoute(ctx, a, token)
	life := routeLife
	if err != nil {
		to, life = destination{endpoint: &p.endpoint}, routeRetry
		if l.ctx.Err() == nil {
			p.log.Warn("the provider did not say where the requests of an account belong: they go to the base URL",
				"provider", p.name, "account", a.Name(), "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.destination, r.known, r.due = to, true, p.clock.Now().Add(life)
	close(r.fetching)
	r.fetching = nil
}

// fetchRoute requests a route. No error quotes the token or the response.
func (p *Pool) fetchRoute(ctx context.Context, a *account.Account, token secret.String) (destination, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base.JoinPath(p.family.Route.Path).String(), nil)
	if err != nil {
		return destination{}, err
	}
	own := []field{{"Accept", "application/json"}, {"User-Agent", "shunt"}}
	request.Header = headerOf(appendFields(nil, nil, Bearer(token), p.appendAccountOf(own, a)))
	response, err := p.transport.RoundTrip(request)
	if err != nil {
		return destination{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return destination{}, fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRoute))
	if err != nil {
		return destination{}, err
	}
	found, err := p.family.Route.Parse(body, infoOf(a))
	if err != nil {
		return destination{}, err
	}
	to := destination{endpoint: &p.endpoint, override: found.Override}
	if found.Origin != "" {
		base, err := moved(p.base, found.Origin, p.family.Hosts)
		if err != nil {
			return destination{}, err
		}
		to.endpoint = new(p.transport.endpoint(base))
	}
	return to, nil
}

var errOrigin = errors.New("the response names an origin that may not receive the account's token")

// moved returns a base URL with another origin. It must be that of a host that may receive a token, or of this machine (CFG-41).
func moved(base *url.URL, origin string, allowed []string) (*url.URL, error) {
	to, err := url.Parse(origin)
	if err != nil || to.Host == "" || *to != (url.URL{Scheme: to.Scheme, Host: to.Host}) {
		return nil, errOrigin
	}
	host := hosts.Lower(to.Hostname())
	admitted := to.Scheme == "https" && slices.ContainsFunc(allowed, func(domain string) bool {
		return host == domain || strings.HasSuffix(host, "."+domain)
	})
	if !admitted && (!hosts.IsLoopback(host) || to.Scheme != "https" && to.Scheme != "http") {
		return nil, errOrigin
	}
	at := *base
	at.Scheme, at.Host = to.Scheme, to.Host
	return &at, nil
}

// appendAccountOf appends the header lines of requests with an account's token.
func (p *Pool) appendAccountOf(dst []field, a *account.Account) []field {
	if p.family.AccountHeaders == nil {
		return dst
	}
	for _, f := range p.family.AccountHeaders(nil, infoOf(a)) {
		dst = append(dst, field{f.Name, f.Value})
	}
	return dst
}

func infoOf(a *account.Account) family.AccountInfo {
	return family.AccountInfo{ID: a.ID(), DeviceID: a.DeviceID()}
}
