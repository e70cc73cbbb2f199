package app_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/observe"
	"shunt/internal/sim"
)

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
		{"rejected", faults(sim.Rejected(messages.FiveHour)), 200, "a b k", "a: rejected, b: rejected, one: 429"},
		{"throttled, not said how long", faults(sim.Throttled("")), 200, "a a k", "one: 429"},
		{"throttled for a moment", faults(sim.Throttled("3")), 200, "a a k", "one: 429"},
		{"throttled for long", faults(sim.Throttled("30")), 200, "a b k", "a: throttled, one: 429"},
		{"unauthorized", faults(sim.Unauthorized()), 200, "a a b b k", "a: unauthorized, b: unauthorized, one: login_needed"},
		{"credential refused", faults(sim.CredentialForbidden()), 200, "a b k", "a: credential_refused, b: credential_refused, one: login_needed"},
		{"model refused", faults(sim.ModelForbidden()), 200, "a k", "one: 403"},
		{"no such model", faults(sim.Failure(404, messages.TypeNotFound, "model: x")), 200, "a k", "one: 404"},
		{"overloaded", faults(sim.Overloaded()), 200, "a b k", "a: overloaded, b: overloaded, one: 529"},
		{"server error", faults(sim.ServerError(502)), 200, "a b k", "a: server_error, b: server_error, one: 502"},
		{"reset", faults(sim.ResetConnection()), 200, "a a b b k", "a: unreachable, b: unreachable, one: unreachable"},
		{"overloaded as an event", faults(sim.ErrorStream(messages.TypeOverloaded)), 200, "a b k", "a: overloaded, b: overloaded, one: 529"},
		{"error as an event", faults(sim.ErrorStream(messages.TypeAPI)), 200, "a b k", "a: server_error, b: server_error, one: 500"},
		{"throttled as an event", faults(sim.ErrorStream(messages.TypeRateLimit)), 200, "a a k", "one: 429"},
		{"a bad request", faults(sim.Failure(400, messages.TypeInvalidRequest, "no")), 400, "a", ""},
		{"too large", faults(sim.Failure(413, messages.TypeTooLarge, "no")), 413, "a", ""},
		{"a redirect", faults(sim.Redirect("http://127.0.0.1:9/")), 307, "a", ""},
		{"a bad request as an event", faults(sim.ErrorStream(messages.TypeInvalidRequest)), 200, "a", ""},
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
					rotations = append(rotations, rotation.From+": "+rotation.Reason)
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
		took   time.Duration
	}{
		{"pool first", pool, "30", 200, "a k", 0},
		{"pool first, a moment", pool, "4", 200, "a a", 4 * time.Second},
		{"pool last", key, "30", 200, "k a a", 30 * time.Second},
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
				if !waited(r.took, c.took) {
					w.Errorf("took %v, not %v", r.took, c.took)
				}
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
		for _, cut := range []sim.Fault{sim.Abort(4), sim.Truncate(4)} {
			inWorld(t, withKey(2), c.chain, func(w *world) {
				for _, account := range c.broken {
					w.provider.Inject(account, sim.ServerError(500))
				}
				w.provider.Inject(c.cut, cut)
				r := w.ask("s", plainModel, true)
				calls := append(slices.Clone(c.broken), c.cut)
				if r.status != 200 || r.err == nil || !slices.Equal(w.calls(0), calls) || w.last().End != observe.Truncated {
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
				kind, _, _ := messages.ParseError([]byte(r.body))
				if r.status != 504 || kind != messages.TypeTimeout || w.seen() != 1 || r.took.Seconds() != 120 {
					w.Errorf("%s at %s: %d %s after %v, %d calls", kind, positions[at], r.status, r.body, r.took, w.seen())
				}
				w.wants("attempts", w.last().Attempts, 2*at+1) // CHN-3b
				w.wants("provider", w.last().Provider, positions[at])
			}, func(w *world) { w.unplug("127.0.0.1:8102") })
		}
	}
}

// CHN-2, FO-8, FO-14: what may be bettered is remembered up to 1 MiB, and read for two seconds at most; what a single
// upstream says is the answer whatever its size.
func TestLongFailuresInAChain(t *testing.T) {
	const mebibyte = 1 << 20
	large := sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(503)
		io.WriteString(rw, strings.Repeat("0123456789abcdef", 3*mebibyte/16))
	})
	for _, c := range []struct {
		toml string
		want int // bytes
	}{
		{chainOf(keyAt(providerURL, "")), 3 * mebibyte},
		{chainOf(keyAt(providerURL, ""), keyAt(providerURL, "")), mebibyte},
	} {
		inWorld(t, paid, c.toml, func(w *world) {
			w.provider.Inject("", large)
			got := w.send(sim.MessagesPath, minimal, bodyFor(plainModel, false))
			if got.status != 503 || got.err != nil || len(got.body) != c.want || got.header.Get("Content-Length") != "" && got.header.Get("Content-Length") != strconv.Itoa(c.want) {
				w.Errorf("%d, %v, %d bytes, want %d; %v", got.status, got.err, len(got.body), c.want, got.header)
			}
		})
	}
	for _, toml := range []string{chainOf(keyAt(providerURL, ""), keyAt(providerURL, "")), chainOf(poolAt(providerURL, "a"), keyAt(providerURL, ""))} {
		inWorld(t, withKey(1), toml, func(w *world) {
			w.provider.Inject("", sim.Respond(stall(503)).Times(1))
			r := w.ask("s", plainModel, true)
			if r.status != 200 || r.took != 2*time.Second || r.header.Get("X-Gateway-Upstream") != "two" {
				w.Errorf("%d after %v by %s", r.status, r.took, r.header.Get("X-Gateway-Upstream"))
			}
		}, keyOnlyInStore)
	}
}

// FO-0b: two accounts that cannot reach a host are enough for a request, whichever upstreams of the chain they are of. A
// pool at another base URL, and a key, are tried all the same.
func TestHostDownInAChain(t *testing.T) {
	const down, other = "http://127.0.0.1:8102", "http://127.0.0.1:8102/other"
	for _, c := range []struct {
		toml     string
		attempts int
	}{
		{chainOf(poolAt(down, "a"), poolAt(down, "b", "c")), 4},
		{chainOf(poolAt(down, "a", "b"), poolAt(down, "c"), poolAt(down)), 4},
		{chainOf(poolAt(down, "a", "b"), poolAt(other, "c")), 6},
		{chainOf(poolAt(down, "a", "b"), keyAt(down, "")), 6},
	} {
		inWorld(t, sim.Config{Accounts: accountsOf(3)}, c.toml, func(w *world) {
			r := w.ask("", plainModel, true)
			w.wants("attempts", w.last().Attempts, c.attempts)
			w.wants("status", r.status, 502)
			w.wants("says", strings.Contains(r.body, "all upstreams failed ("), true)
		}, func(w *world) { w.unplug("127.0.0.1:8102") })
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

// CFG-50: a request goes on in the chain that it began with; the next one has the new one.
func TestReloadOfAChain(t *testing.T) {
	inWorld(t, withKey(1), poolAndKey("a"), func(w *world) {
		w.provider.Inject("a", sim.ServerError(500).After(time.Minute).Times(1))
		begun := w.start(w.Context(), "s")
		synctest.Wait()
		w.reload(chainOf(keyAt(providerURL, ""), poolAt(providerURL, "a")))
		w.wants("upstream of the next", w.ask("s", plainModel, true).header.Get("X-Gateway-Upstream"), "one")
		w.wants("account of the next", w.received().Account, "k")
		r := <-begun
		w.wants("status", r.status, 200)
		w.wants("upstream", r.header.Get("X-Gateway-Upstream"), "two")
		w.wants("calls", strings.Join(w.calls(0), " "), "a k k")
	}, keyOnlyInStore)
}

// RTE-4: tokens are counted by the first upstream of a chain, or not at all.
func TestCountTokensInAChain(t *testing.T) {
	inWorld(t, withKey(1), poolAndKey("a"), func(w *world) {
		for status, fault := range map[int]sim.Fault{429: sim.Rejected(messages.SevenDay), 404: sim.Failure(404, messages.TypeNotFound, "no"), 500: sim.ServerError(500)} {
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
	inWorld(t, paid, chainOf(keyAt(providerURL, ""))+"[[routes]]\nmodel = \"modèle\"\nprovider = \"one\"\nupstream_model = \""+plainModel+"\"\n"+
		"[[routes]]\nmodel = \"short\"\nprovider = \"one\"\nupstream_model = \""+long+"\"\n", func(w *world) {
		for _, c := range []struct {
			model           string
			asked, upstream []string
		}{
			{"modèle", nil, []string{plainModel}},
			{"line\\nbreak", nil, nil},
			{"short", []string{"short"}, nil},
			{long[1:], []string{long[1:]}, []string{long[1:]}},
			{long[5:] + "[1m]", []string{long[5:] + "[1m]"}, []string{long[5:]}},
		} {
			r := w.send(sim.MessagesPath, minimal, bodyFor(c.model, false))
			if diff := cmp.Diff([][]string{{"one"}, c.asked, c.upstream}, [][]string{r.header["X-Gateway-Upstream"], r.header["X-Gateway-Model"], r.header["X-Gateway-Upstream-Model"]}); diff != "" {
				w.Errorf("%s: %s", c.model, diff)
			}
		}
	})
}
