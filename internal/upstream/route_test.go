package upstream_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/family/chatgpt"
)

// GPT-4b: concurrent first requests of an account share one request for its route, and a new configuration keeps what is known.
func TestRouteIsRequestedOnce(t *testing.T) {
	inStage(t, func(s *stage) {
		var requests atomic.Int32
		s.routes = func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			time.Sleep(time.Second)
			_, _ = w.Write(chatgpt.Family.Fixed[0].Respond(nil, r.Header))
		}
		began := time.Now()
		var clients sync.WaitGroup
		for range 10 {
			clients.Go(func() { s.request("s") })
		}
		clients.Wait()
		if took := time.Since(began); requests.Load() != 1 || took != time.Second {
			t.Errorf("%d requests for a route took %v", requests.Load(), took)
		}
		w, _, record := s.request("s")
		state := w.Header().Get("X-Codex-Turn-State")
		s.configure()
		s.script(record.Account, respond(500, ``))
		_, _, moved := s.request("s", "X-Codex-Turn-State: "+state) // GPT-11
		if requests.Load() != 2 || moved.Dropped.State != 1 {
			t.Errorf("%d requests for routes, dropped %+v", requests.Load(), moved.Dropped)
		}
	})
}

// GPT-4b: an account's requests go where the provider says, and nowhere else.
func TestRoutes(t *testing.T) {
	route := func(origin, override string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"accounts":[{"id":"`+r.Header.Get("Chatgpt-Account-Id")+`","workspace_backend_origin":"`+origin+`","account_routing_override":"`+override+`"}]}`)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	const base = "127.0.0.1:8002"
	for name, c := range map[string]struct {
		routes   http.HandlerFunc
		host     string
		override string
		took     time.Duration
		warned   bool
	}{
		"no constraint":     {routes: route("NO_CONSTRAINT", "NO_CONSTRAINT"), host: base},
		"another origin":    {routes: route("http://127.0.0.1:8003", "us_cr"), host: "127.0.0.1:8003", override: "us_cr"},
		"a foreign origin":  {routes: route("https://chatgpt.com.evil.example", "us"), host: base, warned: true},
		"a path":            {routes: route("http://127.0.0.1:8003/x", "us"), host: base, warned: true},
		"without TLS":       {routes: route("http://chatgpt.com", "us"), host: base, warned: true},
		"an unknown one":    {routes: route("NO_CONSTRAINT", "mars"), host: base, warned: true},
		"a failure":         {routes: respond(500, ``), host: base, warned: true},
		"no response":       {routes: hang, host: base, took: 3 * time.Second},
		"another redirects": {routes: respond(307, ``, "location: http://127.0.0.1:8003/"), host: base, warned: true},
	} {
		t.Run(name, func(t *testing.T) {
			inStage(t, func(s *stage) {
				requests := 0
				s.routes = func(w http.ResponseWriter, r *http.Request) {
					requests++
					if r.Header.Get("Chatgpt-Account-Id") == "" || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-") {
						t.Errorf("requested with %v", r.Header)
					}
					c.routes(w, r)
				}
				began := time.Now()
				s.home("s")
				got := s.last()
				if took := time.Since(began); got.host != c.host || got.header.Get("X-Openai-Account-Routing-Override") != c.override || took != c.took {
					t.Errorf("went to %s with %q after %v", got.host, got.header["X-Openai-Account-Routing-Override"], took)
				}
				if warned := s.Logged("belong") > 0; warned != c.warned {
					t.Errorf("warned: %v", warned)
				}
				s.home("s")
				if synctest.Wait(); requests != 1 {
					t.Errorf("requested %d times", requests)
				}
				time.Sleep(25 * time.Hour)
				began = time.Now()
				s.home("s")
				if synctest.Wait(); requests != 2 || time.Since(began) != 0 && !c.warned && c.took == 0 {
					t.Errorf("requested %d times after a day", requests)
				}
			})
		})
	}
}
