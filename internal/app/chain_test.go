package app_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/anthropic"
	"shunt/internal/observe"
	"shunt/internal/sim"
)

// statusHost is a host of several upstreams that answer with the statuses they are told to: where one is asked tells the first
// segment of its path.
type statusHost struct {
	mu     sync.Mutex
	answer map[string]int // by position
	asked  []string       // positions, each once in a row
}

const scriptAddress = "127.0.0.1:8101"

func (s *statusHost) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	position, _, _ := strings.Cut(r.URL.Path[1:], "/")
	s.mu.Lock()
	status := s.answer[position]
	if n := len(s.asked); n == 0 || s.asked[n-1] != position {
		s.asked = append(s.asked, position)
	}
	s.mu.Unlock()
	rw.Header().Set("X-Said-By", position)
	if status/100 == 3 {
		rw.Header().Set("Location", "http://127.0.0.1:8999/elsewhere")
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	if status != http.StatusNoContent && status != http.StatusNotModified {
		fmt.Fprintf(rw, `{"type":"error","error":{"type":"t","message":"by %s"}}`, position)
	}
}

// tell sets what each position answers next.
func (s *statusHost) tell(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.answer = nil, map[string]int{}
	for i, status := range statuses {
		s.answer[positions[i]] = status
	}
}

func (s *statusHost) wasAsked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked, " ")
}

// scripted runs a test in front of a chain of the kinds, all of them at one scripted host.
func scripted(t *testing.T, kinds []string, test func(*world, *statusHost)) {
	t.Helper()
	s := new(statusHost)
	var upstreams []string
	for i, kind := range kinds {
		base := "http://" + scriptAddress + "/" + positions[i]
		upstreams = append(upstreams, map[string]string{
			"passthrough": passAt(base), "api_key": keyAt(base, ""), "claude_oauth": poolAt(base, string(rune('a'+i))),
		}[kind])
	}
	inWorld(t, sim.Config{Accounts: accountsOf(len(kinds))}, chainOf(upstreams...), func(w *world) { test(w, s) }, func(w *world) {
		w.serve(scriptAddress, s)
	})
}

// CHN-1, CHN-2: at each position and for each kind of upstream, a chain goes on after 429, 401, 403, 404 and 5xx, and
// stops at every other status. Where it has come to its end the most telling answer is the client's, as it came.
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
						answers := at // the position whose answer the client gets
						switch {
						case goesOn && at < 2:
							answers = at + 1
						case goesOn && status >= 500:
							answers = 0 // the first of equals
						}
						last := at
						if goesOn && at < 2 {
							last = at + 1
						}
						s.tell(statuses...)
						r := w.send(sim.MessagesPath, minimal, bodyFor(plainModel, false))
						if r.status != statuses[answers] || r.header.Get("X-Said-By") != positions[answers] || r.header.Get("X-Gateway-Upstream") != positions[answers] {
							w.Errorf("%d: %d by %s: %v", status, r.status, r.header.Get("X-Said-By"), r.header)
						}
						if want := strings.Join(positions[:last+1], " "); s.wasAsked() != want {
							w.Errorf("%d: asked %s, want %s", status, s.wasAsked(), want)
						}
						// CHN-3, WIRE-10: a pool's answer names the account, but not what is relayed when all are used up.
						inPool := kinds[answers] == "claude_oauth" && status != 401 && status < 500
						if named := r.header["X-Shunt-Account"] != nil; named != inPool {
							w.Errorf("%d: account %v", status, r.header["X-Shunt-Account"])
						}
						w.wants(strconv.Itoa(status)+": record", fmt.Sprint(w.last().Provider, w.last().Status), fmt.Sprint(positions[answers], r.status))
					}
				})
			})
		}
	}
}

// CHN-2: 429 over 401 and 403 over 404 over 5xx; the first of equals; a response over none; a pool without an account
// over none at all.
func TestMostTellingFailure(t *testing.T) {
	for _, c := range []struct {
		links  string // statuses, or: unplugged, empty, capped
		status int
		by     string // position, or words of shunt's own answer
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
			var upstreams []string
			var statuses []int
			capped := ""
			for i, link := range strings.Fields(c.links) {
				status, _ := strconv.Atoi(link)
				statuses = append(statuses, status)
				upstreams = append(upstreams, map[string]string{
					"unplugged": keyAt("http://127.0.0.1:8102", ""),
					"empty":     "base_url = \"" + providerURL + "\"\nauth = { mode = \"claude_oauth\", accounts = [{ name = \"a\", disabled = true }] }",
					"capped":    "base_url = \"" + providerURL + "\"\nauth = { mode = \"claude_oauth\", accounts = [{ name = \"b\", max_utilization = 0.5 }] }",
				}[link])
				if status != 0 {
					upstreams[i] = keyAt("http://"+scriptAddress+"/"+positions[i], "")
				}
				if link == "capped" {
					capped = "[[routes]]\nmodel = \"claude-direct\"\nprovider = \"" + positions[i] + "\"\n"
				}
			}
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, chainOf(upstreams...)+capped, func(w *world) {
				w.provider.Fill("b", anthropic.FiveHour, 0.6)
				if capped != "" {
					w.mustServe("", "claude-direct") // shunt hears of it
				}
				s.tell(statuses...)
				r := w.send(sim.MessagesPath, minimal, bodyFor(plainModel, false))
				own := strings.Contains(c.by, " ")
				if r.status != c.status || own && !strings.Contains(r.body, c.by) || !own && r.header.Get("X-Said-By") != c.by {
					w.Errorf("%d by %q: %s", r.status, r.header.Get("X-Said-By"), r.body)
				}
				w.wants("own answer", r.header["X-Gateway-Upstream"] == nil, own)
				by := c.by
				if own {
					by = positions[len(upstreams)-1]
					for _, position := range positions {
						if strings.Contains(c.by, "'"+position+"'") {
							by = position
						}
					}
				}
				w.wants("record's provider", w.last().Provider, by)
				w.wants("rotations", len(w.last().Rotations) >= len(upstreams)-1, true)
			}, func(w *world) {
				w.serve(scriptAddress, s)
				w.unplug("127.0.0.1:8102")
			})
		})
	}
}

// poolAndKey is the chain of most people: their subscriptions, and a key that pays when those are out.
func poolAndKey(accounts ...string) string {
	return chainOf(poolAt(providerURL, accounts...), keyAt(providerURL, ""))
}

// withKey are n subscriptions of a provider, and the key.
func withKey(n int) sim.Config {
	return sim.Config{Accounts: append(accountsOf(n), sim.Account{Name: "k", APIKey: "paid-key"})}
}

// keyOnlyInStore keeps the provider's paid key out of the account store, where every other account is.
func keyOnlyInStore(w *world) { w.remove("k") }

// CHN-1, FO-0b, FO-11, CAP-4, ACC-5: what becomes of a pool at the head of a chain, by what happens in it. The calls are the accounts asked, the
// rotations what the record says of them.
func TestChainAfterAPool(t *testing.T) {
	for _, c := range []struct {
		name      string
		fault     []sim.Fault
		status    int
		calls     string
		rotations string
	}{
		{"rejected", faults(sim.Rejected(anthropic.FiveHour)), 200, "a b k", "a: rejected, b: rejected, one: 429"},
		{"throttled, not said how long", faults(sim.Throttled("")), 200, "a a k", "one: 429"},
		{"throttled for a moment", faults(sim.Throttled("3")), 200, "a a k", "one: 429"},
		{"throttled for long", faults(sim.Throttled("30")), 200, "a b k", "a: throttled, one: 429"},
		{"unauthorized", faults(sim.Unauthorized()), 200, "a a b b k", "a: unauthorized, b: unauthorized, one: 401"},
		{"credential refused", faults(sim.CredentialForbidden()), 200, "a b k", "a: credential_refused, b: credential_refused, one: 403"},
		{"model refused", faults(sim.ModelForbidden()), 200, "a k", "one: 403"},
		{"no such model", faults(sim.Failure(404, anthropic.TypeNotFound, "model: x")), 200, "a k", "one: 404"},
		{"overloaded", faults(sim.Overloaded()), 200, "a b k", "a: overloaded, b: overloaded, one: 529"},
		{"server error", faults(sim.ServerError(502)), 200, "a b k", "a: server_error, b: server_error, one: 502"},
		{"reset", faults(sim.ResetConnection()), 200, "a a b b k", "a: unreachable, b: unreachable, one: unreachable"},
		{"overloaded as an event", faults(sim.ErrorStream(anthropic.TypeOverloaded)), 200, "a b k", "a: overloaded, b: overloaded, one: 529"},
		{"error as an event", faults(sim.ErrorStream(anthropic.TypeAPI)), 200, "a b k", "a: server_error, b: server_error, one: 500"},
		{"throttled as an event", faults(sim.ErrorStream(anthropic.TypeRateLimit)), 200, "a a k", "one: 429"},
		{"a bad request", faults(sim.Failure(400, anthropic.TypeInvalidRequest, "no")), 400, "a", ""},
		{"too large", faults(sim.Failure(413, anthropic.TypeTooLarge, "no")), 413, "a", ""},
		{"a redirect", faults(sim.Redirect("http://127.0.0.1:9/")), 307, "a", ""},
		{"a bad request as an event", faults(sim.ErrorStream(anthropic.TypeInvalidRequest)), 200, "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, withKey(2), poolAndKey("a", "b"), func(w *world) {
				for _, account := range []string{"a", "b"} {
					for _, f := range c.fault {
						w.provider.Inject(account, f)
					}
				}
				r := w.ask("", plainModel, true) // the first account's turn
				var rotations []string
				for _, rotation := range w.last().Rotations {
					rotations = append(rotations, rotation.String())
				}
				w.wants("status", r.status, c.status)
				w.wants("calls", strings.Join(w.calls(0), " "), c.calls)
				w.wants("rotations", strings.Join(rotations, ", "), c.rotations)
				w.wants("attempts", w.last().Attempts, len(w.calls(0)))
				by := "one"
				if strings.HasSuffix(c.calls, "k") {
					by = "two"
				}
				w.wants("by", r.header.Get("X-Gateway-Upstream"), by)
				w.wants("recorded", w.last().Provider, by)
				w.wants("account", r.account != "", by == "one")
			}, keyOnlyInStore)
		})
	}
}

// rests reports whether an account cools, in whichever pool.
func (w *world) rests(account string) bool {
	for _, position := range positions {
		for _, s := range w.app.Pool(position) {
			if s.Name == account {
				return s.Cooldown > 0
			}
		}
	}
	w.Fatalf("no account %s", account)
	return false
}

// The throttle row of the table: a wait too long to sit out goes to the next upstream at once. The last one has no next:
// there the wait is sat out, or if it is too long, what was most telling is the answer.
func TestThrottledInAChain(t *testing.T) {
	const pool, key = true, false
	for _, c := range []struct {
		name   string
		first  bool
		after  string
		status int
		calls  string
		took   int // seconds
	}{
		{"pool first", pool, "30", 200, "a k", 0},
		{"pool first, a moment", pool, "4", 200, "a a", 4},
		{"pool last", key, "30", 200, "k a a", 30},
		{"pool last, too long", key, "61", 429, "k a", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			toml := chainOf(keyAt(providerURL, ""), poolAt(providerURL, "a"))
			if c.first {
				toml = poolAndKey("a")
			}
			inWorld(t, withKey(1), toml, func(w *world) {
				w.provider.Inject("a", sim.Throttled(c.after).Times(1))
				if !c.first {
					w.provider.Inject("k", sim.ServerError(500))
				}
				r := w.ask("s", plainModel, true)
				w.wants("status", r.status, c.status)
				w.wants("calls", strings.Join(w.calls(0), " "), c.calls)
				w.wants("seconds", int(r.took.Seconds()), c.took)
				w.wants("rests", w.rests("a"), c.after != "4" && c.took == 0)
			}, keyOnlyInStore)
		})
	}
}

// CHN-1, FO-9: after its first byte an answer is the client's, however it ends. At each position, for each kind.
func TestCutInAChain(t *testing.T) {
	for _, c := range []struct {
		chain  string
		broken []string // accounts whose server fails, before the one whose answer is cut
		cut    string
	}{
		{poolAndKey("a"), nil, "a"},
		{poolAndKey("a"), []string{"a"}, "k"},
		{chainOf(keyAt(providerURL, ""), poolAt(providerURL, "a")), nil, "k"},
		{chainOf(keyAt(providerURL, ""), poolAt(providerURL, "a")), []string{"k"}, "a"},
		{chainOf(keyAt(providerURL, ""), poolAt(providerURL, "b"), poolAt(providerURL, "a")), []string{"k", "b"}, "a"},
	} {
		for _, cut := range []sim.Fault{sim.Cut(4), sim.Truncate(4)} {
			inWorld(t, withKey(2), c.chain, func(w *world) {
				for _, account := range c.broken {
					w.provider.Inject(account, sim.ServerError(500))
				}
				w.provider.Inject(c.cut, cut)
				r := w.ask("s", plainModel, true)
				calls := append(slices.Clone(c.broken), c.cut)
				if r.status != 200 || r.err == nil || !slices.Equal(w.calls(0), calls) || w.last().End != observe.Cut {
					w.Errorf("%v: %d, %v, calls %v, record %+v", calls, r.status, r.err, w.calls(0), w.last())
				}
			}, keyOnlyInStore)
		}
	}
}

// CHN-1: a turn that may be running is not sent to another upstream either, wherever in the chain the one is that says
// nothing. Ones that cannot be reached have been passed over.
func TestSilenceInAChain(t *testing.T) {
	for _, kind := range []string{"api_key", "claude_oauth", "passthrough"} {
		for at := range 3 {
			base := func(i int) string {
				if i < at {
					return "http://127.0.0.1:8102"
				}
				return providerURL
			}
			upstreams := []string{keyAt(base(0), ""), keyAt(base(1), ""), keyAt(base(2), "")}
			upstreams[at] = map[string]string{"api_key": keyAt(base(at), ""), "claude_oauth": poolAt(base(at), "a"), "passthrough": passAt(base(at))}[kind]
			inWorld(t, withKey(1), chainOf(upstreams...), func(w *world) {
				w.provider.Inject("", sim.Hang())
				r := w.ask("s", plainModel, true)
				kind, _, _ := anthropic.ParseError([]byte(r.body))
				if r.status != 504 || kind != anthropic.TypeTimeout || w.seen() != 1 || r.took.Seconds() != 120 {
					w.Errorf("%s at %s: %d %s after %v, %d calls", kind, positions[at], r.status, r.body, r.took, w.seen())
				}
				w.wants("attempts", w.last().Attempts, 2*at+1) // CHN-3b
				w.wants("provider", w.last().Provider, positions[at])
			}, func(w *world) { w.unplug("127.0.0.1:8102") })
		}
	}
}

// FO-5: when the client leaves, no further upstream is asked.
func TestClientLeavesAChain(t *testing.T) {
	inWorld(t, withKey(1), poolAndKey("a"), func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		w.provider.Inject("a", sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}))
		if r := w.post(ctx, sim.MessagesPath, "s", bodyFor(plainModel, true)); r.err == nil {
			w.Errorf("%d", r.status)
		}
		w.wants("calls", strings.Join(w.calls(0), " "), "a")
		w.wants("end", w.last().End, observe.ClientGone)
		w.wants("rests", w.rests("a"), false)
	}, keyOnlyInStore)
}

// RTE-4: tokens are counted by the first upstream of a chain, or not at all.
func TestCountTokensInAChain(t *testing.T) {
	inWorld(t, withKey(1), poolAndKey("a"), func(w *world) {
		for status, fault := range map[int]sim.Fault{429: sim.Rejected(anthropic.SevenDay), 404: sim.Failure(404, anthropic.TypeNotFound, "no"), 500: sim.ServerError(500)} {
			w.provider.Inject("a", fault.Times(1))
			before := w.seen()
			r := w.post(w.Context(), sim.CountTokensPath, "s", bodyFor(plainModel, false))
			if r.status != status || !slices.Equal(w.calls(before), []string{"a"}) || r.header.Get("X-Gateway-Upstream") != "one" {
				w.Errorf("%d: %d by %v: %s", status, r.status, w.calls(before), r.body)
			}
		}
	}, keyOnlyInStore)
}

// RTE-3: each upstream is asked for the model by its own name, and the client sees the one that it used, whichever
// upstream answers, as a stream or not. What is compressed all the same passes as it is.
func TestModelInAChain(t *testing.T) {
	toml := chainOf(poolAt(providerURL, "a"), keyAt(providerURL, "")) +
		"[[models]]\nid = \"mine\"\ndisplay_name = \"Mine\"\n[models.upstream_model]\ntwo = \"claude-haiku-4-5\"\none = \"claude-opus-4-5\"\n"
	config := withKey(1)
	config.Encodings = []string{"br"}
	inWorld(t, config, toml, func(w *world) {
		for _, down := range []bool{false, true} {
			by, model := "one", "claude-opus-4-5"
			if down {
				by, model = "two", "claude-haiku-4-5"
				w.provider.Inject("a", sim.ServerError(500))
			}
			for _, requested := range []string{"mine", "mine[1m]"} {
				for _, stream := range []bool{true, false} {
					r := w.ask("s", requested, stream)
					got := w.received()
					if r.status != 200 || r.err != nil || r.answer.Model != requested || got.Model != model || got.Header.Get("Accept-Encoding") != "identity" {
						w.Errorf("%s, stream %v: %d, %v: answered by %s, asked for %s, accept-encoding %s", by, stream, r.status, r.err, r.answer.Model, got.Model, got.Header.Get("Accept-Encoding"))
					}
					want := []string{by, requested, model}
					said := []string{r.header.Get("X-Gateway-Upstream"), r.header.Get("X-Gateway-Model"), r.header.Get("X-Gateway-Upstream-Model")}
					if diff := cmp.Diff(want, said); diff != "" { // CHN-3
						w.Error(diff)
					}
					w.wants("record", w.last().Model, requested)
					if body := strings.Replace(bodyFor(requested, stream), requested, model, 1); by == "two" && string(got.Body) != body {
						w.Errorf("sent %s, want %s", got.Body, body) // WIRE-5
					}
				}
			}
		}
		for _, coding := range []string{"gzip", "br", "zstd"} {
			for _, stream := range []bool{true, false} {
				w.provider.Inject("k", sim.Encoded(coding).Times(1))
				r := w.ask("s", "mine", stream)
				err := r.answer.Verify([]byte(bodyFor("claude-haiku-4-5", stream)))
				if r.status != 200 || err != nil || r.answer.Model != "claude-haiku-4-5" || r.header.Get("Content-Encoding") != coding {
					w.Errorf("%s, stream %v: %d, %v, %v, model %s", coding, stream, r.status, err, r.header, r.answer.Model)
				}
			}
		}
	}, keyOnlyInStore)
}

// CHN-3: what cannot stand in a header is left out of it.
func TestGatewayHeadersThatAreLeftOut(t *testing.T) {
	long := strings.Repeat("m", 257)
	inWorld(t, paid, chainOf(keyAt(providerURL, ""))+"[[routes]]\nmodel = \"modèle\"\nprovider = \"one\"\nupstream_model = \""+plainModel+"\"\n", func(w *world) {
		for _, c := range []struct {
			model           string
			asked, upstream []string
		}{
			{"modèle", nil, []string{plainModel}},
			{"line\\nbreak", nil, nil},
			{long, nil, nil},
			{long[1:], []string{long[1:]}, []string{long[1:]}},
			{long[1:] + "[1m]", nil, []string{long[1:]}},
		} {
			r := w.send(sim.MessagesPath, minimal, bodyFor(c.model, false))
			if diff := cmp.Diff([][]string{{"one"}, c.asked, c.upstream}, [][]string{r.header["X-Gateway-Upstream"], r.header["X-Gateway-Model"], r.header["X-Gateway-Upstream-Model"]}); diff != "" {
				w.Errorf("%s: %s", c.model, diff)
			}
		}
	})
}
