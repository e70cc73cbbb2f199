package app_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"shunt/internal/sim"
)

// RTE-2: what a client writes large costs no memory once its request has ended: neither in the records that the admin page
// keeps, nor on the page, nor in the metrics.
func TestLargeRequestsAreForgotten(t *testing.T) {
	const requests, bound = 200, 1 << 20 // bytes in all
	large := strings.Repeat("x", 2<<20)
	for name, send := range map[string]func(w *world) plain{
		"model": func(w *world) plain {
			return w.send(sim.MessagesPath, minimal, `{"model":"`+large+`"}`)
		},
		"other members": func(w *world) plain {
			return w.send(sim.MessagesPath, minimal, `{"stream":"`+large+`","metadata":{"user_id":"`+large+`_session_`+large[:1<<10]+`"},"model":""}`)
		},
		"headers": func(w *world) plain {
			return w.send(sim.MessagesPath, with(minimal, "X-Claude-Code-Session-Id", large[:40<<10], "X-Api-Key", large[:10<<10], "User-Agent", large[:5<<10]), `{}`)
		},
		"request line": func(w *world) plain {
			return w.send(sim.MessagesPath+"?x="+large[:7<<10], minimal, `{}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(1)}, surface+poolOf(""), func(w *world) {
				for range 3 { // what is kept for later requests
					send(w)
				}
				before := heap()
				for range requests {
					if got := send(w); got.status != 400 || len(got.body) > 1<<10 {
						w.Fatalf("%d %.200s", got.status, got.body)
					}
				}
				w.last()
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
	request, err := http.NewRequest(http.MethodGet, gatewayURL+"/admin/live", nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("X-Shunt-Admin-Token", readKey)
	response, err := w.client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	time.AfterFunc(time.Second, func() { response.Body.Close() }) // it never ends by itself
	shown, _ := io.ReadAll(response.Body)
	return string(shown)
}
