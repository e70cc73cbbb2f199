package app_test

import (
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/observe"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// OBS-1: an error event inside a stream of status 200 is not a success: not in the log, the metrics or the record.
func TestErrorEventIsNoSuccess(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, surface+apptest.PoolOf(""), func(w *world) {
		w.Provider.Inject("", simtest.Script(simtest.StartEvent, time.Second, simtest.ErrorEvent[:9], time.Second, simtest.ErrorEvent[9:]))
		got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
		if got.Body != simtest.StartEvent+simtest.ErrorEvent || got.Err != nil || got.Status != 200 {
			w.Errorf("%d, %v: %q", got.Status, got.Err, got.Body)
		}
		r := w.Last()
		w.Want("end", r.End, observe.Failed)
		w.Want("type", r.StreamError, "overloaded_error")
		w.Want("the call", r.Calls[0].Result, observe.ResultStreamError)
		if r.Tokens == nil || r.Tokens.Input != 7 {
			w.Errorf("tokens %+v", r.Tokens)
		}
		if !strings.Contains(w.Log.String(), " status=200 end=error stream_error=overloaded_error ") {
			w.Errorf("the log does not say so: %s", w.Log)
		}
		_, text := w.scrape("GET", "Authorization", "Bearer "+readKey)
		for line, there := range map[string]bool{
			`shunt_stream_errors_total{account="a",provider="anthropic",type="overloaded_error"} 1`:   true,
			`shunt_upstream_attempts_total{account="a",provider="anthropic",reason="stream_error"} 1`: true,
			`shunt_streams_cut_total`: false, `reason="success"`: false,
		} {
			if strings.Contains(text, line) != there {
				w.Errorf("in the metrics, %v: %s", !there, line)
			}
		}
	}, withAdmin)
}
