package upstream_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"shunt/internal/account"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// statusHost is a host of several upstreams, each of which responds with a set status. The first segment of a request's path names
// the upstream.
type statusHost struct {
	mu       sync.Mutex
	status   map[string]int // by position
	requests []string       // positions, each once in a row
}

const scriptAddress = "127.0.0.1:8101"

func (s *statusHost) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	position, _, _ := strings.Cut(r.URL.Path[1:], "/")
	s.mu.Lock()
	status := s.status[position]
	if n := len(s.requests); n == 0 || s.requests[n-1] != position {
		s.requests = append(s.requests, position)
	}
	s.mu.Unlock()
	rw.Header().Set("X-Sent-By", position)
	if status/100 == 3 {
		rw.Header().Set("Location", "http://127.0.0.1:8999/elsewhere")
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	if status != http.StatusNoContent && status != http.StatusNotModified {
		fmt.Fprintf(rw, `{"type":"error","error":{"type":"t","message":"by %s"}}`, position)
	}
}

// respond sets the status of each position.
func (s *statusHost) respond(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.status = nil, map[string]int{}
	for i, status := range statuses {
		s.status[positions[i]] = status
	}
}

func (s *statusHost) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, " ")
}

// scripted runs a test of a chain of the kinds, all of them at one host.
func scripted(t *testing.T, kinds []string, test func(*world, *statusHost)) {
	t.Helper()
	s := new(statusHost)
	var upstreams []target
	for i, kind := range kinds {
		base := "http://" + scriptAddress + "/" + positions[i]
		upstreams = append(upstreams, map[string]target{
			"passthrough": passAt(base), "api_key": keyAt(base), "claude_oauth": poolAt(base, string(rune('a'+i))),
		}[kind])
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(len(kinds))}, chainOf(upstreams...), func(w *world) { test(w, s) }, func(w *world) {
		w.Serve(scriptAddress, s)
	})
}

// CHN-1, CHN-2: at each position and for each kind of upstream, a chain continues after 429, 401, 403, 404 and 5xx, and
// stops at every other status. At its end, the client gets the response of highest severity, unchanged.
func TestChainByStatus(t *testing.T) {
	advances := []int{429, 401, 403, 404, 500, 501, 502, 503, 504, 529, 599}
	stops := []int{200, 201, 202, 204, 300, 301, 302, 303, 304, 307, 308, 400, 402, 405, 406, 408, 409, 410, 413, 415, 422, 424, 451, 499}
	for _, kind := range []string{"passthrough", "api_key", "claude_oauth"} {
		for at := range 3 {
			t.Run(kind+" "+positions[at], func(t *testing.T) {
				kinds := []string{"api_key", "api_key", "api_key"}
				kinds[at] = kind
				scripted(t, kinds, func(w *world, s *statusHost) {
					for _, status := range append(slices.Clone(advances), stops...) {
						goesOn := slices.Contains(advances, status)
						statuses := []int{500, 500, 500} // before this position
						statuses[at] = status
						for i := at + 1; i < 3; i++ {
							statuses[i] = 200 // and after it
						}
						from := at // the position whose response the client gets
						switch {
						case goesOn && at < 2:
							from = at + 1
						case goesOn && status >= 500:
							from = 0 // the first of equals
						}
						last := at
						if goesOn && at < 2 {
							last = at + 1
						}
						s.respond(statuses...)
						r := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, false))
						if r.Status != statuses[from] || r.Header.Get("X-Sent-By") != positions[from] || r.Header.Get("X-Gateway-Upstream") != positions[from] {
							w.Errorf("%d: %d by %s: %v", status, r.Status, r.Header.Get("X-Sent-By"), r.Header)
						}
						if want := strings.Join(positions[:last+1], " "); s.received() != want {
							w.Errorf("%d: requests to %s, want %s", status, s.received(), want)
						}
						// CHN-3, WIRE-10: a pool's response names the account, unless it is relayed because all accounts are used up.
						inPool := kinds[from] == "claude_oauth" && status != 401 && status < 500
						if named := r.Header["X-Shunt-Account"] != nil; named != inPool {
							w.Errorf("%d: account %v", status, r.Header["X-Shunt-Account"])
						}
						var left []string // upstreams, by the record
						for _, rotation := range w.Last().Rotations {
							if rotation.Provider == "" {
								left = append(left, rotation.From)
							}
						}
						w.Want(strconv.Itoa(status)+": record", fmt.Sprint(w.Last().Provider, w.Last().Status, left), fmt.Sprint(positions[from], r.Status, positions[:last]))
					}
				})
			})
		}
	}
}

// CHN-2: 429 over 401 and 403 over 404 over 5xx; the first of equals; a response over none; a pool without an account
// over none at all.
func TestFailureOfHighestSeverity(t *testing.T) {
	for _, c := range []struct {
		links  string // statuses, or: unplugged, empty, capped
		status int
		by     string // position, or words of shunt's own response
	}{
		{"429 429 500", 429, "one"},
		{"500 429 401", 429, "two"},
		{"401 403 404", 401, "one"},
		{"403 401 429", 429, "three"},
		{"404 403 401", 403, "two"},
		{"404 500 401", 401, "three"},
		{"500 503 529", 500, "one"},
		{"529 404 404", 404, "two"},
		{"unplugged 503 500", 503, "two"},
		{"500 unplugged unplugged", 500, "one"},
		{"unplugged unplugged unplugged", 502, "all upstreams failed (3 attempted)"},
		{"unplugged unplugged", 502, "all upstreams failed (2 attempted)"},
		{"empty 503 unplugged", 503, "two"},
		{"500 empty empty", 500, "one"},
		{"unplugged empty unplugged", 503, "provider 'two'"},
		{"empty unplugged empty", 503, "provider 'one'"},
		{"capped 429 401", 429, "provider 'one' are at their max_utilization cap"},
		{"401 capped 403", 429, "provider 'two' are at their max_utilization cap"},
		{"429 capped 500", 429, "one"},
		{"capped empty unplugged", 429, "provider 'one' are at their max_utilization cap"},
		{"empty capped", 429, "provider 'two' are at their max_utilization cap"},
	} {
		t.Run(c.links, func(t *testing.T) {
			s := new(statusHost)
			var upstreams []target
			var statuses []int
			capped := -1
			for i, link := range strings.Fields(c.links) {
				status, _ := strconv.Atoi(link)
				statuses = append(statuses, status)
				upstreams = append(upstreams, map[string]target{
					"unplugged": keyAt("http://127.0.0.1:8102"),
					"empty":     {base: simtest.ProviderURL, pool: true, accounts: []member{disabled("a")}},
					"capped":    {base: simtest.ProviderURL, pool: true, accounts: []member{{Spec: account.Spec{Name: "b"}, cap: 0.5}}},
				}[link])
				if status != 0 {
					upstreams[i] = keyAt("http://" + scriptAddress + "/" + positions[i])
				}
				if link == "capped" {
					capped = i
				}
			}
			chain := chainOf(upstreams...)
			chain.routes = map[string]int{"claude-direct": capped}
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, chain, func(w *world) {
				w.Provider.Fill("b", messages.FiveHour, 0.6)
				if capped >= 0 {
					w.MustServe("", "claude-direct") // whose response reports it
				}
				s.respond(statuses...)
				r := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, false))
				own := strings.Contains(c.by, " ")
				if r.Status != c.status || own && !strings.Contains(r.Body, c.by) || !own && r.Header.Get("X-Sent-By") != c.by {
					w.Errorf("%d by %q: %s", r.Status, r.Header.Get("X-Sent-By"), r.Body)
				}
				w.Want("own response", r.Header["X-Gateway-Upstream"] == nil, own)
				by := c.by
				if own {
					by = positions[len(upstreams)-1]
					for _, position := range positions {
						if strings.Contains(c.by, "'"+position+"'") {
							by = position
						}
					}
				}
				w.Want("record's provider", w.Last().Provider, by)
				w.Want("rotations", len(w.Last().Rotations) >= len(upstreams)-1, true)
			}, func(w *world) {
				w.Serve(scriptAddress, s)
				w.Unplug("127.0.0.1:8102")
			})
		})
	}
}
