package upstream_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/observe"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// CHN-1, FO-0b, FO-11, CAP-4, ACC-5: when a chain leaves the pool at its head, by what happens in the pool. The calls are the accounts
// that received requests, the rotations those in the record.
func TestChainAfterAPool(t *testing.T) {
	for _, c := range []struct {
		name      string
		fault     []sim.Fault
		status    int
		calls     string
		rotations string
	}{
		{"rejected", simtest.Faults(sim.Rejected(messages.FiveHour)), 200, "a b k", "a: rejected, b: rejected, one: 429"},
		{"throttled, without a time", simtest.Faults(sim.Throttled("")), 200, "a a k", "one: 429"},
		{"throttled for a moment", simtest.Faults(sim.Throttled("3")), 200, "a a k", "one: 429"},
		{"throttled for long", simtest.Faults(sim.Throttled("30")), 200, "a b k", "a: throttled, one: 429"},
		{"unauthorized", simtest.Faults(sim.Unauthorized()), 200, "a a b b k", "a: unauthorized, b: unauthorized, one: login_needed"},
		{"credential refused", simtest.Faults(sim.CredentialForbidden()), 200, "a b k", "a: credential_refused, b: credential_refused, one: login_needed"},
		{"model refused", simtest.Faults(sim.ModelForbidden()), 200, "a k", "one: 403"},
		{"no such model", simtest.Faults(sim.Failure(404, messages.TypeNotFound, "model: x")), 200, "a k", "one: 404"},
		{"overloaded", simtest.Faults(sim.Overloaded()), 200, "a b k", "a: overloaded, b: overloaded, one: 529"},
		{"server error", simtest.Faults(sim.ServerError(502)), 200, "a b k", "a: server_error, b: server_error, one: 502"},
		{"reset", simtest.Faults(sim.ResetConnection()), 200, "a a b b k", "a: unreachable, b: unreachable, one: unreachable"},
		{"overloaded as an event", simtest.Faults(sim.ErrorStream(messages.TypeOverloaded)), 200, "a b k", "a: overloaded, b: overloaded, one: 529"},
		{"error as an event", simtest.Faults(sim.ErrorStream(messages.TypeAPI)), 200, "a b k", "a: server_error, b: server_error, one: 500"},
		{"throttled as an event", simtest.Faults(sim.ErrorStream(messages.TypeRateLimit)), 200, "a a k", "one: 429"},
		{"a bad request", simtest.Faults(sim.Failure(400, messages.TypeInvalidRequest, "no")), 400, "a", ""},
		{"too large", simtest.Faults(sim.Failure(413, messages.TypeTooLarge, "no")), 413, "a", ""},
		{"a redirect", simtest.Faults(sim.Redirect("http://127.0.0.1:9/")), 307, "a", ""},
		{"a bad request as an event", simtest.Faults(sim.ErrorStream(messages.TypeInvalidRequest)), 200, "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, withKey(2), poolAndKey("a", "b"), func(w *world) {
				for _, account := range []string{"a", "b"} {
					for _, f := range c.fault {
						w.Provider.Inject(account, f)
					}
				}
				r := w.Request("", simtest.PlainModel, true) // the first account's turn
				var rotations []string
				for _, rotation := range w.Last().Rotations {
					rotations = append(rotations, rotation.From+": "+rotation.Reason)
				}
				w.Want("status", r.Status, c.status)
				w.Want("calls", strings.Join(w.Calls(0), " "), c.calls)
				w.Want("rotations", strings.Join(rotations, ", "), c.rotations)
				w.Want("attempts", w.Last().Attempts, len(w.Calls(0)))
				by := "one"
				if strings.HasSuffix(c.calls, "k") {
					by = "two"
				}
				w.Want("by", r.Header.Get("X-Gateway-Upstream"), by)
				w.Want("recorded", w.Last().Provider, by)
				w.Want("account", r.Account != "", by == "one")
			}, keyNotInStore)
		})
	}
}

// coolsDown reports whether an account of any pool cools down.
func (w *world) coolsDown(account string) bool {
	for _, position := range positions {
		for _, s := range w.Tested.Pool(position) {
			if s.Name == account {
				return s.Cooldown > 0
			}
		}
	}
	w.Fatalf("no account %s", account)
	return false
}

// The throttle row of the table: instead of a long wait, a chain continues with the next upstream at once. After the last
// one, the request waits or, if that is too long, gets the response of highest severity.
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
			chain := chainOf(keyAt(simtest.ProviderURL), poolAt(simtest.ProviderURL, "a"))
			if c.first {
				chain = poolAndKey("a")
			}
			inWorld(t, withKey(1), chain, func(w *world) {
				w.Provider.Inject("a", sim.Throttled(c.after).Times(1))
				if !c.first {
					w.Provider.Inject("k", sim.ServerError(500))
				}
				r := w.Request("s", simtest.PlainModel, true)
				w.Want("status", r.Status, c.status)
				w.Want("calls", strings.Join(w.Calls(0), " "), c.calls)
				if !simtest.Waited(r.Took, c.took) {
					w.Errorf("took %v, not %v", r.Took, c.took)
				}
				w.Want("cooldown", w.coolsDown("a"), c.after != "4" && c.took == 0)
			}, keyNotInStore)
		})
	}
}

// CHN-1, FO-9: after its first byte a response is the client's, however it ends: at each position, for each kind.
func TestTruncationInAChain(t *testing.T) {
	for _, c := range []struct {
		chain     setup
		broken    []string // accounts that fail, before the one whose response is truncated
		truncated string
	}{
		{poolAndKey("a"), nil, "a"},
		{poolAndKey("a"), []string{"a"}, "k"},
		{chainOf(keyAt(simtest.ProviderURL), poolAt(simtest.ProviderURL, "a")), nil, "k"},
		{chainOf(keyAt(simtest.ProviderURL), poolAt(simtest.ProviderURL, "a")), []string{"k"}, "a"},
		{chainOf(keyAt(simtest.ProviderURL), poolAt(simtest.ProviderURL, "b"), poolAt(simtest.ProviderURL, "a")), []string{"k", "b"}, "a"},
	} {
		for _, fault := range []sim.Fault{sim.Abort(4), sim.Truncate(4)} {
			inWorld(t, withKey(2), c.chain, func(w *world) {
				for _, account := range c.broken {
					w.Provider.Inject(account, sim.ServerError(500))
				}
				w.Provider.Inject(c.truncated, fault)
				r := w.Request("s", simtest.PlainModel, true)
				calls := append(slices.Clone(c.broken), c.truncated)
				if r.Status != 200 || r.Err == nil || !slices.Equal(w.Calls(0), calls) || w.Last().End != observe.Truncated {
					w.Errorf("%v: %d, %v, calls %v, record %+v", calls, r.Status, r.Err, w.Calls(0), w.Last())
				}
			}, keyNotInStore)
		}
	}
}

// CHN-1: a request that may be running is not sent to another upstream either, whatever the position of the silent one. A chain
// does pass over upstreams that cannot be reached.
func TestSilenceInAChain(t *testing.T) {
	for _, kind := range []string{"api_key", "claude_oauth", "passthrough"} {
		for at := range 3 {
			base := func(i int) string {
				if i < at {
					return "http://127.0.0.1:8102"
				}
				return simtest.ProviderURL
			}
			upstreams := []target{keyAt(base(0)), keyAt(base(1)), keyAt(base(2))}
			upstreams[at] = map[string]target{"api_key": keyAt(base(at)), "claude_oauth": poolAt(base(at), "a"), "passthrough": passAt(base(at))}[kind]
			inWorld(t, withKey(1), chainOf(upstreams...), func(w *world) {
				w.Provider.Inject("", sim.Hang())
				r := w.Request("s", simtest.PlainModel, true)
				kind, _, _ := messages.ParseError([]byte(r.Body))
				if r.Status != 504 || kind != messages.TypeTimeout || w.Seen() != 1 || r.Took.Seconds() != 120 {
					w.Errorf("%s at %s: %d %s after %v, %d calls", kind, positions[at], r.Status, r.Body, r.Took, w.Seen())
				}
				w.Want("attempts", w.Last().Attempts, 2*at+1) // CHN-3b
				w.Want("provider", w.Last().Provider, positions[at])
			}, func(w *world) { w.Unplug("127.0.0.1:8102") })
		}
	}
}

// CHN-2, FO-8, FO-14: a response that a later one may replace is kept up to 1 MiB, and read for two seconds at most; that of
// a single upstream is relayed whatever its size.
func TestLongFailuresInAChain(t *testing.T) {
	const mebibyte = 1 << 20
	large := sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(503)
		io.WriteString(rw, strings.Repeat("0123456789abcdef", 3*mebibyte/16))
	})
	for _, c := range []struct {
		chain setup
		want  int // bytes
	}{
		{chainOf(keyAt(simtest.ProviderURL)), 3 * mebibyte},
		{chainOf(keyAt(simtest.ProviderURL), keyAt(simtest.ProviderURL)), mebibyte},
	} {
		inWorld(t, paid, c.chain, func(w *world) {
			w.Provider.Inject("", large)
			got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, false))
			if got.Status != 503 || got.Err != nil || len(got.Body) != c.want || got.Header.Get("Content-Length") != "" && got.Header.Get("Content-Length") != strconv.Itoa(c.want) {
				w.Errorf("%d, %v, %d bytes, want %d; %v", got.Status, got.Err, len(got.Body), c.want, got.Header)
			}
		})
	}
	for _, chain := range []setup{chainOf(keyAt(simtest.ProviderURL), keyAt(simtest.ProviderURL)), chainOf(poolAt(simtest.ProviderURL, "a"), keyAt(simtest.ProviderURL))} {
		inWorld(t, withKey(1), chain, func(w *world) {
			w.Provider.Inject("", simtest.Stall(503).Times(1))
			r := w.Request("s", simtest.PlainModel, true)
			if r.Status != 200 || r.Took != 2*time.Second || r.Header.Get("X-Gateway-Upstream") != "two" {
				w.Errorf("%d after %v by %s", r.Status, r.Took, r.Header.Get("X-Gateway-Upstream"))
			}
		}, keyNotInStore)
	}
}

// FO-0b: two accounts that cannot reach a host are enough for a request, whichever upstreams of the chain have them. A
// pool at another base URL and a key are tried nevertheless.
func TestHostDownInAChain(t *testing.T) {
	const down, other = "http://127.0.0.1:8102", "http://127.0.0.1:8102/other"
	for _, c := range []struct {
		chain    setup
		attempts int
	}{
		{chainOf(poolAt(down, "a"), poolAt(down, "b", "c")), 4},
		{chainOf(poolAt(down, "a", "b"), poolAt(down, "c"), poolAt(down)), 4},
		{chainOf(poolAt(down, "a", "b"), poolAt(other, "c")), 6},
		{chainOf(poolAt(down, "a", "b"), keyAt(down)), 6},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, c.chain, func(w *world) {
			r := w.Request("", simtest.PlainModel, true)
			w.Want("attempts", w.Last().Attempts, c.attempts)
			w.Want("status", r.Status, 502)
			w.Want("names the chain", strings.Contains(r.Body, "all upstreams failed ("), true)
		}, func(w *world) { w.Unplug("127.0.0.1:8102") })
	}
}

// FO-5: when the client leaves, no further upstream receives its request.
func TestClientLeavesAChain(t *testing.T) {
	inWorld(t, withKey(1), poolAndKey("a"), func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		w.Provider.Inject("a", sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}))
		if r := w.Post(ctx, sim.MessagesPath, "s", simtest.Body(simtest.PlainModel, true)); r.Err == nil {
			w.Errorf("%d", r.Status)
		}
		w.Want("calls", strings.Join(w.Calls(0), " "), "a")
		w.Want("end", w.Last().End, observe.ClientGone)
		w.Want("cooldown", w.coolsDown("a"), false)
	}, keyNotInStore)
}

// RTE-3: each upstream receives its own name for the model, and the client receives the name that it sent, whichever upstream
// responds, as a stream or not. A response that is compressed nevertheless is not changed.
func TestModelInAChain(t *testing.T) {
	first, second := poolAt(simtest.ProviderURL, "a"), keyAt(simtest.ProviderURL)
	first.models = map[string]string{"mine": "claude-opus-4-5"}
	second.models = map[string]string{"mine": "claude-haiku-4-5"}
	config := withKey(1)
	config.Encodings = []string{"br"}
	inWorld(t, config, chainOf(first, second), func(w *world) {
		for _, down := range []bool{false, true} {
			by, model := "one", "claude-opus-4-5"
			if down {
				by, model = "two", "claude-haiku-4-5"
				w.Provider.Inject("a", sim.ServerError(500))
			}
			for _, requested := range []string{"mine", "mine[1m]"} {
				for _, stream := range []bool{true, false} {
					r := w.Request("s", requested, stream)
					got := w.Received()
					if r.Status != 200 || r.Err != nil || r.Response.Model != requested || got.Model != model || got.Header.Get("Accept-Encoding") != "identity" {
						w.Errorf("%s, stream %v: %d, %v: a response by %s, requested %s, accept-encoding %s", by, stream, r.Status, r.Err, r.Response.Model, got.Model, got.Header.Get("Accept-Encoding"))
					}
					want := []string{by, requested, model}
					names := []string{r.Header.Get("X-Gateway-Upstream"), r.Header.Get("X-Gateway-Model"), r.Header.Get("X-Gateway-Upstream-Model")}
					if diff := cmp.Diff(want, names); diff != "" { // CHN-3
						w.Error(diff)
					}
					w.Want("record", w.Last().Model, requested)
					if body := strings.Replace(simtest.Body(requested, stream), requested, model, 1); by == "two" && string(got.Body) != body {
						w.Errorf("sent %s, want %s", got.Body, body) // WIRE-5
					}
				}
			}
		}
		for _, coding := range []string{"gzip", "br", "zstd"} {
			for _, stream := range []bool{true, false} {
				w.Provider.Inject("k", sim.Encoded(coding).Times(1))
				r := w.Request("s", "mine", stream)
				err := r.Response.Verify([]byte(simtest.Body("claude-haiku-4-5", stream)))
				if r.Status != 200 || err != nil || r.Response.Model != "claude-haiku-4-5" || r.Header.Get("Content-Encoding") != coding {
					w.Errorf("%s, stream %v: %d, %v, %v, model %s", coding, stream, r.Status, err, r.Header, r.Response.Model)
				}
			}
		}
	}, keyNotInStore)
}

// CHN-3: headers omit names that are not valid in a header.
func TestGatewayHeadersThatAreLeftOut(t *testing.T) {
	long := strings.Repeat("m", 257)
	upstream := keyAt(simtest.ProviderURL)
	upstream.models = map[string]string{"modèle": simtest.PlainModel, "short": long}
	inWorld(t, paid, chainOf(upstream), func(w *world) {
		for _, c := range []struct {
			model               string
			requested, upstream []string
		}{
			{"modèle", nil, []string{simtest.PlainModel}},
			{"line\\nbreak", nil, nil},
			{"short", []string{"short"}, nil},
			{long[1:], []string{long[1:]}, []string{long[1:]}},
			{long[5:] + "[1m]", []string{long[5:] + "[1m]"}, []string{long[5:]}},
		} {
			r := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(c.model, false))
			if diff := cmp.Diff([][]string{{"one"}, c.requested, c.upstream}, [][]string{r.Header["X-Gateway-Upstream"], r.Header["X-Gateway-Model"], r.Header["X-Gateway-Upstream-Model"]}); diff != "" {
				w.Errorf("%s: %s", c.model, diff)
			}
		}
	})
}
