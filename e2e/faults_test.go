package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// quotaHit is the 429 of a used-up five-hour window that resets in the given number of seconds.
func quotaHit(seconds int) sim.Fault {
	return sim.Respond(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{
			"Status": "rejected", "5h-Status": "rejected", "5h-Utilization": "1", "5h-Reset": strconv.FormatInt(time.Now().Unix()+int64(seconds), 10),
		} {
			h.Set("Anthropic-Ratelimit-Unified-"+name, value)
		}
		h.Set("Retry-After", strconv.Itoa(seconds))
		h.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write(messages.AppendError(nil, messages.TypeRateLimit, quotaMessage(seconds), "req_quota"))
	})
}

func quotaMessage(seconds int) string {
	return fmt.Sprintf("This request would exceed your account's rate limit, which resets in %d s.", seconds)
}

// stall sends the head of a stream and its first three events, then nothing until the client goes away. It counts the
// requests that it hits.
func stall(hits *atomic.Int64) sim.Fault {
	return sim.Respond(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		fmt.Fprintf(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_stalled\",\"type\":\"message\",\"role\":\"assistant\","+
			"\"model\":%q,\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n", model)
		fmt.Fprint(w, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
		fmt.Fprint(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"I begin\"}}\n\n")
		_ = http.NewResponseController(w).Flush() // an error means that the client has gone
		<-r.Context().Done()
	})
}

// injectFaults injects faults into random accounts until ctx ends. Faults with a long cooldown are rare, so that most requests
// succeed.
func injectFaults(ctx context.Context, p *sim.Provider, rng *rand.Rand, stalled *atomic.Int64) {
	kinds := []struct {
		weight int
		fault  func() sim.Fault
	}{
		{4, func() sim.Fault { return quotaHit(3) }},
		{4, func() sim.Fault { return sim.Throttled("1") }},
		{2, func() sim.Fault { return sim.Throttled("7") }},
		{3, func() sim.Fault { return sim.Overloaded() }},
		{1, func() sim.Fault { return sim.ServerError([]int{500, 502, 503}[rng.IntN(3)]) }},
		{4, func() sim.Fault { return sim.ResetConnection() }},
		{5, func() sim.Fault { return sim.Abort(2 + rng.IntN(6)) }},
		{3, func() sim.Fault { return sim.Truncate(2 + rng.IntN(6)) }},
		{4, func() sim.Fault { return sim.SlowFirstEvent(1500 * time.Millisecond) }},
		{4, func() sim.Fault { return sim.SlowHeaders(800 * time.Millisecond) }},
		{2, func() sim.Fault { return sim.ErrorStream(messages.TypeOverloaded) }},
		{3, func() sim.Fault { return stall(stalled) }},
		{1, sim.Hang},
	}
	var drawn []func() sim.Fault
	for _, k := range kinds {
		for range k.weight {
			drawn = append(drawn, k.fault)
		}
	}
	accounts := p.Accounts()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+rng.IntN(400)) * time.Millisecond):
		}
		account := accounts[rng.IntN(len(accounts))]
		if rng.IntN(15) == 0 {
			p.ExpireTokens(account)
			continue
		}
		p.Clear(account) // a fault that has not hit a request yet
		p.Inject(account, drawn[rng.IntN(len(drawn))]().Times(1))
	}
}
