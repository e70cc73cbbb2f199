package app_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// RTE-2: what a client writes large costs no memory once its request has ended: neither in the records that the admin page
// keeps, nor on the page, nor in the metrics.
func TestLargeRequestsAreForgotten(t *testing.T) {
	const requests, bound = 200, 1 << 20 // bytes in all
	large := strings.Repeat("x", 512<<10)
	for name, send := range map[string]func(w *world) simtest.Reply{
		"model": func(w *world) simtest.Reply {
			return w.Send(sim.MessagesPath, simtest.Minimal, `{"model":"`+large+`"}`)
		},
		"other members": func(w *world) simtest.Reply {
			return w.Send(sim.MessagesPath, simtest.Minimal, `{"stream":"`+large+`","metadata":{"user_id":"`+large+`_session_`+large[:1<<10]+`"},"model":""}`)
		},
		"headers": func(w *world) simtest.Reply {
			return w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "X-Claude-Code-Session-Id", large[:40<<10], "X-Api-Key", large[:10<<10], "User-Agent", large[:5<<10]), `{}`)
		},
		"request line": func(w *world) simtest.Reply {
			return w.Send(sim.MessagesPath+"?x="+large[:7<<10], simtest.Minimal, `{}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, surface+apptest.PoolOf(""), func(w *world) {
				for range 3 { // what is kept for later requests
					send(w)
				}
				before := heap()
				for range requests {
					if got := send(w); got.Status != 400 || len(got.Body) > 1<<10 {
						w.Fatalf("%d %.200s", got.Status, got.Body)
					}
				}
				w.Last()
				if grown := heap() - before; grown > bound {
					w.Errorf("%d requests left %d bytes", requests, grown)
				}
				if page := w.page(); !strings.Contains(page, "400") || len(page) > 64<<10 {
					w.Errorf("the page has %d bytes", len(page))
				}
				if _, text := w.scrape("GET", "Authorization", "Bearer "+readKey); len(text) > 64<<10 {
					w.Errorf("the metrics have %d bytes", len(text))
				}
			}, withAdmin)
		})
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	for range 3 { // pools let go of what they keep at the second collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// page returns the changing parts of the admin page, as they are shown first.
func (w *world) page() string {
	w.Helper()
	request, err := http.NewRequest(http.MethodGet, simtest.GatewayURL+"/admin/live", nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("X-Shunt-Admin-Token", readKey)
	response, err := w.Client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	time.AfterFunc(time.Second, func() { response.Body.Close() }) // it never ends by itself
	shown, _ := io.ReadAll(response.Body)
	return string(shown)
}
