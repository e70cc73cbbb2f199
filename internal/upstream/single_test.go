package upstream_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/observe"
	"shunt/internal/secret"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
	"shunt/internal/upstream"
)

// WIRE-2, WIRE-3, CHN-4: a configured key takes the place of the client's credentials, in the header that is configured;
// passthrough leaves them as they are. Nothing else is added or changed.
func TestSingleCredentials(t *testing.T) {
	client := http.Header{
		"Authorization": {"Bearer paid-key"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"a,b"}, "Accept-Encoding": {"gzip, br"},
		"X-Claude-Code-Session-Id": {"s"}, "User-Agent": {"claude-cli/2"}, "Content-Type": {"application/json"},
	}
	ends := http.Header{"Cookie": {"c"}, "X-Forwarded-For": {"1"}, "X-Shunt-Token": {"t"}, "Via": {"v"}, "Te": {"trailers"}}
	without := func(h http.Header, names ...string) http.Header {
		h = h.Clone()
		for _, name := range names {
			h.Del(name)
		}
		return h
	}
	theirs := simtest.With(without(client, "Authorization"), "Authorization", "Bearer theirs", "X-Api-Key", "theirs-too")
	for _, c := range []struct {
		name       string
		credential upstream.Credential
		sent, want http.Header
	}{
		{"passthrough, bearer", passthrough, client, client},
		{"passthrough by default", upstream.Credential{}, client, client},
		{"passthrough, key", passthrough, simtest.With(without(client, "Authorization"), "X-Api-Key", "paid-key"), simtest.With(without(client, "Authorization"), "X-Api-Key", "paid-key")},
		{"passthrough, bare", passthrough, simtest.With(simtest.Minimal, "X-Api-Key", "paid-key"), simtest.With(simtest.Minimal, "X-Api-Key", "paid-key")},
		{"key as bearer", apiKey, theirs, client},
		{"key in x-api-key", upstream.APIKey(secret.New(simtest.PaidKey)), theirs, simtest.With(without(client, "Authorization"), "X-Api-Key", "paid-key")},
		{"key, bare", apiKey, simtest.Minimal, simtest.With(simtest.Minimal, "Authorization", "Bearer paid-key")},
	} {
		inWorld(t, paid, singleOf(c.credential), func(w *world) {
			for _, stream := range []bool{true, false} {
				sent := c.sent.Clone()
				for name, values := range ends {
					sent[name] = values
				}
				body := strings.Replace(simtest.Body(simtest.PlainModel, stream), "{", "{ \n", 1)
				got := w.Send("/v1/messages?beta=true", sent, body)
				if got.Status != 200 || got.Header["X-Shunt-Account"] != nil || got.Header["Set-Cookie"] != nil || got.Header.Get("X-Gateway-Upstream") != "anthropic" {
					w.Fatalf("%s: %d %v %s", c.name, got.Status, got.Header, got.Body)
				}
				r := w.Received()
				seen := without(r.Header, "Content-Length")
				if diff := cmp.Diff(c.want, seen); diff != "" {
					w.Errorf("%s (-want +got):\n%s", c.name, diff)
				}
				if string(r.Body) != body || r.Path != "/v1/messages?beta=true" {
					w.Errorf("%s: %s %s", c.name, r.Path, r.Body)
				}
			}
		})
	}
}

// With a wrong credential, or none, the client gets the provider's own 401.
func TestPassthroughWithoutACredential(t *testing.T) {
	inWorld(t, paid, singleOf(passthrough), func(w *world) {
		for _, header := range []http.Header{simtest.Minimal, simtest.With(simtest.Minimal, "Authorization", "Bearer wrong")} {
			got := w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, false))
			if kind, _, _ := messages.ParseError([]byte(got.Body)); got.Status != 401 || kind != messages.TypeAuthentication || w.Received().Header.Get("Authorization") != header.Get("Authorization") {
				w.Errorf("%d %s", got.Status, got.Body)
			}
		}
		if calls := w.Calls(0); len(calls) != 2 {
			w.Errorf("%d calls", len(calls))
		}
	})
}

// CHN-3b, ERR-2: one resend after a connection that failed before headers, over a new connection with the same bytes; no
// status and no stream is retried, waited for or changed.
func TestSingleIsNotRetried(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []sim.Fault
		status int
		calls  int
		waited time.Duration
		text   string
	}{
		{"reset", simtest.Faults(sim.ResetConnection()), 200, 2, 0, ""},
		{"reset twice", simtest.Faults(sim.ResetConnection(), sim.ResetConnection()), 502, 2, 0, "closed the connection before it responded"},
		{"quota", simtest.Faults(sim.Rejected(messages.FiveHour)), 429, 1, 0, "rate_limit_error"},
		{"throttle", simtest.Faults(sim.Throttled("2")), 429, 1, 0, "rate_limit_error"},
		{"529", simtest.Faults(sim.Overloaded()), 529, 1, 0, "Overloaded"},
		{"500", simtest.Faults(sim.ServerError(500)), 500, 1, 0, "Internal server error"},
		{"503, reset first", simtest.Faults(sim.ResetConnection(), sim.ServerError(503)), 503, 2, 0, "Internal server error"},
		{"401", simtest.Faults(sim.Unauthorized()), 401, 1, 0, "authentication_error"},
		{"403", simtest.Faults(sim.CredentialForbidden()), 403, 1, 0, "OAuth"},
		{"error stream", simtest.Faults(sim.ErrorStream(messages.TypeOverloaded)), 200, 1, 0, "overloaded_error"},
		{"no headers", simtest.Faults(sim.Hang()), 504, 1, 120 * time.Second, "timeout_error"},
		{"a redirect", simtest.Faults(sim.Redirect("http://127.0.0.1:9/")), 307, 1, 0, ""},
	} {
		for _, credential := range []upstream.Credential{apiKey, passthrough} {
			inWorld(t, paid, singleOf(credential), func(w *world) {
				header := simtest.With(simtest.Minimal, "Authorization", "Bearer paid-key")
				w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, true)) // there is a connection to reuse
				before := w.Seen()
				for _, f := range c.faults {
					w.Provider.Inject("", f.Times(1))
				}
				began := time.Now()
				got := w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, true))
				if got.Status != c.status || !strings.Contains(got.Body, c.text) || time.Since(began) != c.waited {
					w.Errorf("%s: %d after %v: %s", c.name, got.Status, time.Since(began), got.Body)
				}
				requests := w.Provider.Requests()[before:]
				if len(requests) != c.calls || w.Last().Attempts != c.calls {
					w.Errorf("%s: %d calls, record %+v", c.name, len(requests), w.Last())
				}
				if len(requests) == 2 && (requests[0].Conn == requests[1].Conn || requests[0].BodyHash != requests[1].BodyHash) {
					w.Errorf("%s: the resend used the old connection, or sent something else", c.name)
				}
				// CHN-3, ERR-1: only the provider's responses have these headers.
				if own := c.status == 502 || c.status == 504; own == (got.Header["X-Gateway-Model"] != nil) {
					w.Errorf("%s: %v", c.name, got.Header)
				}
			})
		}
	}
}

// RTE-3 with a single credential: the mark is removed and restored.
func TestSingleModelIsRestored(t *testing.T) {
	config := paid
	config.Encodings = []string{"br"}
	inWorld(t, config, singleOf(apiKey), func(w *world) {
		for _, stream := range []bool{true, false} {
			r := w.Request("", simtest.PlainModel+"[1m]", stream)
			if r.Status != 200 || r.Err != nil || r.Response.Model != simtest.PlainModel+"[1m]" || w.Received().Model != simtest.PlainModel {
				w.Errorf("stream %v: %d, %v, requested %s, a response by %s", stream, r.Status, r.Err, w.Received().Model, r.Response.Model)
			}
		}
		// Without the mark, the client's accept-encoding is sent, for streams too (WIRE-1).
		got := w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "Accept-Encoding", "br"), simtest.Body(simtest.PlainModel, true))
		if got.Header.Get("Content-Encoding") != "br" || got.Header["Content-Length"] != nil || got.Header.Get("X-Accel-Buffering") != "no" {
			w.Errorf("%v", got.Header)
		}
	})
}

// WIRE-12, FO-9, FO-5: a stream of a single credential is kept alive, and truncated where the provider truncated it.
func TestSingleStreams(t *testing.T) {
	inWorld(t, paid, singleOf(apiKey), func(w *world) {
		w.Provider.Inject("", sim.SlowFirstEvent(100*time.Second).Times(1))
		r := w.Request("", simtest.PlainModel, true)
		if r.Err != nil || r.Response.Pings != 7 { // six of shunt's and the provider's own
			w.Errorf("%v, %d pings", r.Err, r.Response.Pings)
		}
		w.Provider.Inject("", sim.Abort(5).Times(1))
		got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
		if got.Status != 200 || got.Err != io.ErrUnexpectedEOF || w.Last().End != observe.Truncated || len(w.Calls(0)) != 2 {
			w.Errorf("%d, %v, %+v", got.Status, got.Err, w.Last())
		}
	})
}
