package app_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// whoMaySee is which credential reaches an upstream of a chain: the client's own, that of the upstream (its key, or the
// token of its account), or none at all. It depends on what the first upstream of the chain is, and on whether it has the
// same origin (CHN-4, WIRE-1, WIRE-2). It does not depend on what the client presents.
const whoMaySee = `
	                     passthrough/same  passthrough/other  api_key/same  api_key/other  claude_oauth/same  claude_oauth/other
	one   passthrough    client            -                  -             -              -                  -
	one   api_key        -                 -                  own           -              -                  -
	one   claude_oauth   -                 -                  -             -              own                -
	two   passthrough    client            none               none          none           none               none
	two   api_key        own               own                own           own            own                own
	two   claude_oauth   own               own                own           own            own                own
	three passthrough    client            none               none          none           none               none
	three api_key        own               own                own           own            own                own
	three claude_oauth   own               own                own           own            own                own
`

// cell is a place of the table.
type cell struct{ position, kind, first string }

func cells(table string) map[cell]string {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	columns := strings.Fields(lines[0])
	all := map[cell]string{}
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		for i, value := range fields[2:] {
			all[cell{fields[0], fields[1], columns[i]}] = value
		}
	}
	return all
}

// witnesses are upstreams that record the headers that they receive. The first segment of a request's path names the upstream.
type witnesses struct {
	mu    sync.Mutex
	shown map[string]http.Header
}

func (s *witnesses) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	position, _, _ := strings.Cut(r.URL.Path[1:], "/")
	s.mu.Lock()
	s.shown[position] = r.Header
	s.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusNotFound) // so that the chain continues
	rw.Write([]byte(`{"type":"error","error":{"type":"not_found_error","message":"no such model"}}`))
}

func (s *witnesses) take() map[string]http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.shown
	s.shown = map[string]http.Header{}
	return shown
}

// The origins of the witnesses.
var origins = map[byte]string{'A': "127.0.0.1:8101", 'B': "127.0.0.1:8102"}

// What a client presents besides its token of shunt's, which is in the header for it, or in the place of a credential of its own.
var clients = map[string]http.Header{
	"none":          simtest.With(simtest.Minimal, "X-Team-Token", shuntsToken),
	"authorization": simtest.With(simtest.Minimal, "X-Team-Token", shuntsToken, "Authorization", "Bearer the-clients-own"),
	"x-api-key":     simtest.With(simtest.Minimal, "X-Team-Token", shuntsToken, "X-Api-Key", "the-clients-own-key"),
	"both":          simtest.With(simtest.Minimal, "X-Team-Token", shuntsToken, "Authorization", "Bearer the-clients-own", "X-Api-Key", "the-clients-own-key"),
	"token, bearer": simtest.With(simtest.Minimal, "Authorization", "Bearer "+shuntsToken),
	"token, key":    simtest.With(simtest.Minimal, "X-Api-Key", shuntsToken),
	"token and key": simtest.With(simtest.Minimal, "Authorization", "Bearer "+shuntsToken, "X-Api-Key", "the-clients-own-key"),
}

const shuntsToken = "the-clients-token-of-shunt"

// CHN-4, WIRE-2, WIRE-3: whatever the upstreams of a chain are, wherever they are and whatever the client presents, each sees the
// credential that is meant for it and no other party's, in no header.
func TestWhoMaySeeWhichCredential(t *testing.T) {
	want, checked := cells(whoMaySee), map[cell]int{}
	kinds := []string{"passthrough", "api_key", "claude_oauth"}
	for _, first := range kinds {
		for _, second := range kinds {
			for _, third := range kinds {
				for _, at := range []string{"AAA", "AAB", "ABA", "ABB"} {
					chain := []string{first, second, third}
					t.Run(strings.Join(chain, " ")+" at "+at, func(t *testing.T) {
						inChain(t, chain, at, func(w *world, s *witnesses) {
							for presented, header := range clients {
								w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, presented == "both"))
								for position, shown := range s.take() {
									i := map[string]int{"one": 0, "two": 1, "three": 2}[position]
									c := cell{position, chain[i], first + map[bool]string{true: "/same", false: "/other"}[at[i] == at[0]]}
									checked[c]++
									if diff := cmp.Diff(w.credential(want[c], i, chain[i], header), credentialsIn(shown)); diff != "" {
										w.Errorf("client presents %s: %+v, want %s: (-want +got)\n%s", presented, c, want[c], diff)
									}
									w.showsNoOther(shown, want[c], i, chain[i])
								}
							}
						})
					})
				}
			}
		}
	}
	for c, value := range want {
		if (value == "-") != (checked[c] == 0) {
			t.Errorf("%+v was checked %d times", c, checked[c])
		}
	}
}

// inChain runs a test of a chain of witnesses. Each has a credential of its own, even if it is not used.
func inChain(t *testing.T, kinds []string, at string, test func(*world, *witnesses)) {
	t.Helper()
	seen := &witnesses{shown: map[string]http.Header{}}
	var upstreams []string
	for i, kind := range kinds {
		base := "http://" + origins[at[i]] + "/" + positions[i]
		switch kind {
		case "passthrough":
			upstreams = append(upstreams, passAt(base))
		case "api_key":
			header := []string{"bearer", "x_api_key", "bearer"}[i]
			upstreams = append(upstreams, fmt.Sprintf("base_url = %q\nauth = { mode = \"api_key\", env = \"KEY_%d\", header = %q }", base, i, header))
		case "claude_oauth":
			upstreams = append(upstreams, poolAt(base, string(rune('a'+i))))
		}
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, chainOf(upstreams...)+"[server.auth]\nheader = \"x-team-token\"\n", func(w *world) { test(w, seen) }, func(w *world) {
		for _, address := range origins {
			w.Serve(address, seen)
		}
		w.Env = append(w.Env, "SHUNT_CLIENT_TOKENS=ann:"+shuntsToken)
		for i := range kinds {
			w.Env = append(w.Env, fmt.Sprintf("KEY_%d=paid-key-%d", i, i))
		}
	})
}

// credential is what the upstream at a position should be shown, in the two headers that there are for it.
func (w *world) credential(whose string, i int, kind string, client http.Header) http.Header {
	switch {
	case whose == "client":
		theirs := credentialsIn(client)
		maps.DeleteFunc(theirs, func(_ string, values []string) bool { return strings.HasSuffix(values[0], shuntsToken) })
		return theirs
	case whose == "own" && kind == "claude_oauth":
		return http.Header{"Authorization": {"Bearer " + w.Provider.Token(string(rune('a'+i)))}}
	case whose == "own" && i == 1:
		return http.Header{"X-Api-Key": {"paid-key-1"}}
	case whose == "own":
		return http.Header{"Authorization": {fmt.Sprintf("Bearer paid-key-%d", i)}}
	}
	return http.Header{}
}

func credentialsIn(h http.Header) http.Header {
	found := http.Header{}
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		if values := h[name]; values != nil {
			found[name] = values
		}
	}
	return found
}

// showsNoOther looks for every credential that there is but the allowed one, anywhere in the header.
func (w *world) showsNoOther(shown http.Header, whose string, at int, kind string) {
	w.Helper()
	foreign := map[string]bool{"the-clients-own": whose != "client", shuntsToken: true}
	for i := range 3 {
		foreign[fmt.Sprintf("paid-key-%d", i)] = i != at || kind != "api_key"
		foreign[w.Provider.Token(string(rune('a'+i)))] = i != at || kind != "claude_oauth"
	}
	maps.DeleteFunc(foreign, func(_ string, is bool) bool { return !is })
	for name, values := range shown {
		for secret := range foreign {
			if strings.Contains(strings.Join(values, " "), secret) {
				w.Errorf("upstream %d is shown another's credential in %s", at+1, name)
			}
		}
	}
}
