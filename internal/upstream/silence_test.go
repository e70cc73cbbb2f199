package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/observe"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

const idleEvent = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":" +
	"\"the upstream sent nothing for 300 seconds: the response is incomplete, and the request can be sent again\"}}\n\n"

// WIRE-12b, FO-9: after upstream_idle_ms without a byte from the upstream, the response ends as a truncated one, whatever its
// kind, and is recorded and logged as one. It does not affect the account and is not sent again.
func TestUpstreamThatFallsSilent(t *testing.T) {
	silent := func(kind, coding, sent string) sim.Fault {
		return sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", kind)
			if coding != "" {
				rw.Header().Set("Content-Encoding", coding)
			}
			rw.WriteHeader(200)
			io.WriteString(rw, sent)
			http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		}).Times(1)
	}
	const stream, document = "text/event-stream", "application/json"
	for _, c := range []struct {
		name   string
		fault  sim.Fault
		stream bool
		want   string // without pings
	}{
		{"between events", silent(stream, "", simtest.StartEvent), true, simtest.StartEvent + idleEvent},
		{"inside an event", silent(stream, "", simtest.StartEvent+"event: content"), true, simtest.StartEvent + "event: content"},
		{"before any event", silent(stream, "", ""), true, idleEvent},
		{"compressed", silent(stream, "gzip", "no gzip"), true, "no gzip"},
		{"a document", silent(document, "", `{"type":"message",`), false, `{"type":"message",`},
	} {
		for _, limit := range []time.Duration{5 * time.Minute, 0} {
			for name, upstream := range map[string]struct {
				provider sim.Config
				setup    setup
			}{"pool": {sim.Config{Accounts: simtest.Accounts(2)}, poolOf()}, "single": {paid, singleOf(apiKey)}} {
				for _, model := range []string{simtest.PlainModel, simtest.PlainModel + "[1m]"} {
					t.Run(strings.Join([]string{c.name, limit.String(), name, model}, ", "), func(t *testing.T) {
						inWorld(t, upstream.provider, upstream.setup.idle(limit), func(w *world) {
							w.Provider.Inject("", c.fault)
							began := time.Now()
							done := make(chan simtest.Reply, 1)
							go func() { done <- w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(model, c.stream)) }()
							if limit == 0 {
								time.Sleep(time.Hour)
								select {
								case got := <-done:
									w.Errorf("it ended: %+v", got)
								default:
								}
								return
							}
							got := <-done
							want := strings.Replace(c.want, `"`+simtest.PlainModel+`"`, `"`+model+`"`, 1)
							if body := strings.ReplaceAll(got.Body, simtest.PingEvent, ""); got.Status != 200 || body != want || !errors.Is(got.Err, io.ErrUnexpectedEOF) {
								w.Errorf("%d, %v: got  %q\nwant %q", got.Status, got.Err, body, want)
							}
							w.Want("took", time.Since(began), limit)
							r := w.Last()
							w.Want("end", r.End, observe.Truncated)
							w.Want("cause", r.TruncationCause, observe.UpstreamIdle)
							w.Want("status", r.Status, 200)
							if calls := w.Calls(0); len(calls) != 1 || name == "pool" && w.State(r.Account).Cooldown != 0 {
								w.Errorf("calls %v", calls)
							}
							if !strings.Contains(w.Log.String(), " end=cut cut_cause=upstream_idle ") {
								w.Error("the log does not contain it")
							}
							w.Want("the upstream's side", w.Provider.Requests()[0].Outcome, sim.Canceled)
						})
					})
				}
			}
		}
	}
}

// FO-11: the upstream's pings before its first event reach the client as soon as the hold is over.
func TestPingsOfASlowUpstream(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		steps := []any{": hello\n\n" + simtest.PingEvent}
		for range 4 {
			steps = append(steps, 6*time.Second, simtest.PingEvent)
		}
		w.Provider.Inject("", simtest.Script(append(steps, time.Second, simtest.StartEvent, simtest.StopEvent)...))
		began := time.Now()
		response := w.Stream(simtest.PlainModel)
		defer response.Body.Close()
		got := map[int]string{}
		for buf := make([]byte, 4<<10); ; {
			n, err := response.Body.Read(buf)
			got[int(time.Since(began).Seconds())] += string(buf[:n])
			if err != nil {
				break
			}
		}
		want := map[int]string{10: ": hello\n\n" + simtest.PingEvent + simtest.PingEvent, 12: simtest.PingEvent, 18: simtest.PingEvent, 24: simtest.PingEvent, 25: simtest.StartEvent + simtest.StopEvent}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("by second (-want +got):\n%s", diff)
		}
	})
}

// OBS-1, FO-11: a refusal that is relayed because every account failed keeps the results of its calls; a client that leaves
// after it has read the error did not abort the response.
func TestErrorEventThatIsRelayedLast(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.ErrorStream(messages.TypeOverloaded).Times(1))
		w.Request("s", simtest.PlainModel, true)
		r := w.Last()
		w.Want("end", r.End, observe.Failed)
		w.Want("type", r.StreamError, "overloaded_error")
		w.Want("the call", r.Calls[0].Result, "overloaded")

		w.Provider.Inject("", simtest.Script(simtest.StartEvent, simtest.ErrorEvent, time.Hour))
		response := w.Stream(simtest.PlainModel)
		io.ReadFull(response.Body, make([]byte, len(simtest.StartEvent+simtest.ErrorEvent)))
		response.Body.Close()
		synctest.Wait()
		w.Want("end", w.Last().End, observe.Failed)
	})
}
