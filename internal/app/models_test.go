package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// get sends a request to one of the gateway's own endpoints.
func (w *world) get(method, path string, header http.Header) simtest.Reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, simtest.GatewayURL+path, nil)
	w.Must(err)
	request.Header = header.Clone()
	response, err := w.Client.Do(request)
	w.Must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return simtest.NewReply(response, body, err)
}

// listed models of the configuration; the first is one that the provider has too.
const modelTables = `
[[models]]
id = "claude-opus-4-5"
display_name = "Opus, ours"
[[models]]
id = "house"
[models.upstream_model]
anthropic = "claude-sonnet-4-5"
[[models]]
id = "claude-opus-4-5"
`

func modelList(entries ...[2]string) string {
	type entry struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"display_name"`
	}
	list := struct {
		Data    []entry `json:"data"`
		HasMore bool    `json:"has_more"`
		First   *string `json:"first_id"`
		Last    *string `json:"last_id"`
	}{Data: []entry{}}
	for _, e := range entries {
		list.Data = append(list.Data, entry{"model", e[0], e[1]})
	}
	if n := len(entries); n > 0 {
		list.First, list.Last = &entries[0][0], &entries[n-1][0]
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

var (
	configured = [][2]string{{"claude-opus-4-5", "Opus, ours"}, {"house", "house"}}
	live       = [][2]string{{"claude-sonnet-4-5", "Claude sonnet 4 5"}, {"claude-haiku-4-5", "Claude haiku 4 5"}, {"claude-fable-5", "Claude fable 5"}}
)

// The endpoint table: GET /v1/models has the models of the configuration in its order and then, none of them twice, those
// that the default provider has now. The request to it has its account, its key or the client's credential, and
// sees no other. HEAD has the same header.
func TestModelsAreListed(t *testing.T) {
	client := simtest.With(http.Header{}, "Authorization", "Bearer the-clients-own", "X-Api-Key", "paid-key", "If-None-Match", `"x"`, "Range", "bytes=0-9",
		"Accept-Encoding", "br", "Anthropic-Version", "2024-01-01", "Cookie", "c=1")
	for _, c := range []struct {
		name, toml string
		want       http.Header
	}{
		{"pool", apptest.PoolOf(""), http.Header{"Authorization": {"Bearer TOKEN"}}},
		{"key", singleOf(apiKey), http.Header{"Authorization": {"Bearer paid-key"}}},
		{"key in x-api-key", singleOf(apiKey, `api_key_header = "x_api_key"`), http.Header{"X-Api-Key": {"paid-key"}}},
		{"passthrough", singleOf(passthrough), http.Header{"Authorization": {"Bearer the-clients-own"}, "X-Api-Key": {"paid-key"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := withKey(1)
			config.Encodings = []string{"br"}
			inWorld(t, config, c.toml+modelTables, func(w *world) {
				got := w.get("GET", "/v1/models?limit=2", client)
				if diff := cmp.Diff(modelList(append(configured, live...)...), got.Body); diff != "" || got.Status != 200 || got.Header.Get("Content-Type") != "application/json" {
					w.Errorf("%d %v (-want +got)\n%s", got.Status, got.Header, diff)
				}
				requests := w.Provider.Requests()
				r := requests[len(requests)-1]
				for name, values := range c.want {
					for i := range values {
						values[i] = strings.ReplaceAll(values[i], "TOKEN", w.Provider.Token("a"))
					}
					c.want[name] = values
				}
				if diff := cmp.Diff(c.want, credentialsIn(r.Header)); diff != "" {
					w.Error(diff)
				}
				if r.Method != "GET" || r.Path != "/v1/models?limit=1000" || r.Header.Get("Accept-Encoding") != "identity" || r.Header.Get("Anthropic-Version") != "2024-01-01" ||
					r.Header["If-None-Match"] != nil || r.Header["Range"] != nil || r.Header["Cookie"] != nil {
					w.Errorf("%s %s %v", r.Method, r.Path, r.Header)
				}
				head := w.get("HEAD", "/v1/models", client)
				w.Want("length", head.Header.Get("Content-Length"), strconv.Itoa(len(got.Body)))
				w.Want("body of HEAD", head.Body, "")
				w.Want("type", head.Header.Get("Content-Type"), "application/json")
				w.Want("requests on record", len(w.Records()), 0)
			}, keyNotInStore)
		})
	}
}

// Without a live list within two seconds, the configured one is the response. This does not affect
// an account for that.
func TestModelsWithoutALiveList(t *testing.T) {
	respond := func(status int, body string) sim.Fault {
		return sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(status)
			io.WriteString(rw, body)
		})
	}
	for _, c := range []struct {
		name  string
		fault sim.Fault
		took  time.Duration
		calls int // of one account
	}{
		{"late headers", sim.SlowHeaders(1999 * time.Millisecond), 1999 * time.Millisecond, -1},
		{"later headers", sim.SlowHeaders(2001 * time.Millisecond), 2 * time.Second, 1},
		{"no headers", sim.Hang(), 2 * time.Second, 1},
		{"late body", sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
			io.WriteString(rw, `{"data":[`)
			http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		}), 2 * time.Second, 1},
		{"server error", sim.ServerError(500), 0, 2},
		{"unauthorized", sim.Unauthorized(), 0, 2},
		{"throttled", sim.Throttled("100"), 0, 2},
		{"redirect", sim.Redirect(simtest.ProviderURL + "/v1/models"), 0, 2},
		{"reset", sim.ResetConnection(), 0, 2},
		{"no JSON", respond(200, "<html>"), 0, 2},
		{"another shape", respond(200, `{"data":{"id":"x"}}`), 0, 2},
		{"endless", respond(200, `{"data":[{"id":"`+strings.Repeat("x", 5<<20)), 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, kind := range []string{"pool", "key", "passthrough"} {
				toml := map[string]string{"pool": apptest.PoolOf(""), "key": singleOf(apiKey), "passthrough": singleOf(passthrough)}[kind]
				inWorld(t, withKey(2), toml+modelTables, func(w *world) {
					w.Provider.Inject("", c.fault.On(sim.ModelsPath))
					began := time.Now()
					got := w.get("GET", "/v1/models", http.Header{"X-Api-Key": {"paid-key"}})
					want := modelList(configured...)
					if c.calls < 0 {
						want = modelList(append(configured, live...)...)
					}
					if got.Status != 200 || got.Body != want || time.Since(began) != c.took {
						w.Errorf("%s: %d after %v: %s", kind, got.Status, time.Since(began), got.Body)
					}
					if c.calls > 0 && kind == "pool" {
						w.Want("accounts tried", w.Seen(), c.calls)
					}
					if kind == "pool" {
						counted := 0
						for _, account := range []string{"a", "b"} {
							s := w.State(account)
							counted += int(s.Requests)
							w.Want("cooldown", s.Cooldown, time.Duration(0))
							w.Want("in flight", s.InFlight, 0)
							w.Want("condition", w.Conditions(), "")
							// The quota in a response is recorded nevertheless (QUO-1).
							_, known := s.Quota.Utilization(claude.FiveHour)
							w.Want("quota known", known, c.name == "throttled")
						}
						w.Want("accounts that count a request", counted, max(c.calls, 1))
					}
					for c.took == 0 && c.name != "endless" && w.Seen() < 8 {
						w.get("GET", "/v1/models", http.Header{"X-Api-Key": {"paid-key"}})
					}
					synctest.Wait()
					w.Want("few connections", w.Upstream.Open() <= 1, true) // FO-14
				}, keyNotInStore)
			}
		})
	}
}

// The live list comes through the pool: from another account if one fails, and from one that cools down rather than not
// at all. A pool without accounts, and a host that is down, have none.
func TestModelsThroughThePool(t *testing.T) {
	full, none := modelList(append(configured, live...)...), modelList(configured...)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(modelTables), func(w *world) {
		w.Provider.Inject("a", sim.CredentialForbidden().On(sim.ModelsPath))
		for range 2 {
			w.Want("list", w.get("GET", "/v1/models", simtest.Minimal).Body, full)
		}
		w.Provider.Inject("", sim.Rejected(messages.FiveHour))
		w.Want("status", w.Request("", simtest.PlainModel, false).Status, 429)
		w.Want("list of a pool that cools down", w.get("GET", "/v1/models", simtest.Minimal).Body, full)
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.PoolOf(""), func(w *world) { // SEL-1
		for i := range 6 {
			session := fmt.Sprint("s", i)
			w.get("GET", "/v1/models", simtest.Session(session))
			requests := w.Provider.Requests()
			w.Want("sent as", requests[len(requests)-1].Account, w.Home(session))
		}
	})
	inWorld(t, sim.Config{}, apptest.PoolOf(modelTables), func(w *world) {
		w.Want("list without an account", w.get("GET", "/v1/models", simtest.Minimal).Body, none)
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(modelTables), func(w *world) {
		w.Want("list of a host that is down", w.get("GET", "/v1/models", simtest.Minimal).Body, none)
	}, func(w *world) { w.Unplug("127.0.0.1:8001") })
	inWorld(t, paid, singleOf(apiKey), func(w *world) { // as other vendors list them
		w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			io.WriteString(rw, `{"object":"list","data":[{"id":"x","object":"model","pricing":{}},{"id":""},{},{"id":"y","display_name":null}]}`)
		}).On(sim.ModelsPath))
		w.Want("list", w.get("GET", "/v1/models", simtest.Minimal).Body, modelList([2]string{"x", "x"}, [2]string{"y", "y"}))
	})
	inWorld(t, sim.Config{Models: []string{}}, singleOf(passthrough), func(w *world) {
		w.Want("no model at all", w.get("GET", "/v1/models", simtest.Minimal).Body, `{"data":[],"has_more":false,"first_id":null,"last_id":null}`+"\n")
	})
}

// Only the default provider receives requests for its models.
func TestModelsOfTheDefaultProvider(t *testing.T) {
	toml := strings.Replace(chainOf(keyAt("http://127.0.0.1:8102"), keyAt(simtest.ProviderURL)), `"one"`, `"two"`, 1)
	inWorld(t, paid, toml, func(w *world) {
		want := modelList([2]string{simtest.PlainModel, simtest.PlainModel}, [2]string{simtest.FableModel, simtest.FableModel}, [2]string{"claude-opus-4-5", "Claude opus 4 5"}, live[1])
		w.Want("list", w.get("GET", "/v1/models", simtest.Minimal).Body, want)
	}, func(w *world) { w.Unplug("127.0.0.1:8102") })
}

// The endpoint table: GET /routes shows the configuration's routes in the order in which they apply.
func TestRoutes(t *testing.T) {
	const routes = `
[[models]]
id = "listed only"
[[route_prefixes]]
prefix = "gpt-"
provider = "two"
[[routes]]
model = "fast"
provider = "two"
upstream_model = "claude-haiku-4-5"
[[routes]]
model = "as-it-is"
provider = "one"
`
	inWorld(t, paid, chainOf(keyAt(simtest.ProviderURL), passAt(simtest.ProviderURL))+routes, func(w *world) {
		got := w.get("GET", "/routes", simtest.Minimal)
		want := `{"data":[` +
			`{"model":"claude-sonnet-4-5","provider":"one","upstream_model":"claude-sonnet-4-5"},{"model":"claude-sonnet-4-5","provider":"two","upstream_model":"claude-sonnet-4-5"},` +
			`{"model":"claude-fable-5","provider":"one","upstream_model":"claude-fable-5"},{"model":"claude-fable-5","provider":"two","upstream_model":"claude-fable-5"},` +
			`{"model":"fast","provider":"two","upstream_model":"claude-haiku-4-5"},{"model":"as-it-is","provider":"one"},{"prefix":"gpt-","provider":"two"}]}` + "\n"
		if got.Status != 200 || got.Body != want || got.Header.Get("Content-Type") != "application/json" {
			w.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
		w.Want("length", w.get("HEAD", "/routes", simtest.Minimal).Header.Get("Content-Length"), strconv.Itoa(len(want)))
		w.Want("calls", w.Seen(), 0)
	})
	inWorld(t, sim.Config{}, singleOf(), func(w *world) {
		w.Want("no routes", w.get("GET", "/routes", simtest.Minimal).Body, `{"data":[]}`+"\n")
	})
}
