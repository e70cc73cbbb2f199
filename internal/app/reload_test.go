package app_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// reloads are the two ways to have shunt take a new configuration (CFG-50).
var reloads = map[string]func(w *world, toml string){
	"SIGHUP": func(w *world, toml string) { w.Reload(toml) },
	"content": func(w *world, toml string) {
		w.Replace(w.File, []byte(toml))
		time.Sleep(2 * time.Second)
		synctest.Wait()
	},
}

func inBoth(t *testing.T, provider sim.Config, toml string, test func(w *world, reload func(toml string))) {
	for name, reload := range reloads {
		t.Run(name, func(t *testing.T) {
			inWorld(t, provider, toml, func(w *world) {
				test(w, func(toml string) { reload(w, toml) })
			})
		})
	}
}

// CFG-50, SEL-1, SEL-30: an account that is switched off by a reload loses its sessions, and only those move; when it is
// switched on again they come home.
func TestReloadSwitchesAnAccountOffAndOn(t *testing.T) {
	list := func(keys ...string) string {
		return apptest.PoolOf(apptest.Listed("a") + apptest.Listed("b", keys...) + apptest.Listed("c"))
	}
	inBoth(t, sim.Config{Accounts: simtest.Accounts(3)}, list(), func(w *world, reload func(string)) {
		homes := w.Homes()
		reload(list("disabled = true"))
		before := w.Seen()
		for session, home := range homes {
			got := w.MustServe(session, simtest.PlainModel)
			move := w.Last().Move
			switch {
			case home == "b" && (got == "b" || move == nil || move.Reason != "disabled" || move.From != "b" || move.To != got):
				w.Errorf("%s of b is with %s: %+v", session, got, move)
			case home != "b" && (got != home || move != nil):
				w.Errorf("%s of %s is with %s: %+v", session, home, got, move)
			}
		}
		for _, account := range w.Calls(before) {
			if account == "b" {
				w.Errorf("a disabled account was called")
			}
		}
		reload(list())
		for session, home := range homes {
			w.Want(session, w.MustServe(session, simtest.PlainModel), home)
			if move := w.Last().Move; (move != nil) != (home == "b") || move != nil && move.Reason != "returned" {
				w.Errorf("%s of %s: %+v", session, home, move)
			}
		}
	})
}

// CFG-51, SEL-12: quota, cooldowns, counters and turns survive a reload, even one that takes the account out
// for a while.
func TestReloadKeepsWhatIsKnown(t *testing.T) {
	inBoth(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.PoolOf(""), func(w *world, reload func(string)) {
		for _, name := range []string{"a", "b", "c", "a"} {
			w.Want("turn", w.MustServe("", simtest.PlainModel), name)
		}
		w.Provider.Inject("b", sim.Rejected(messages.FiveHour).RetryAfter("3000").Times(1))
		w.Want("served by", w.MustServe("", simtest.PlainModel), "c")
		before, at := w.State("b"), time.Now()
		for _, toml := range []string{
			apptest.PoolOf(apptest.Listed("a") + apptest.Listed("b") + apptest.Listed("c")), apptest.PoolOf(apptest.Listed("a") + apptest.Listed("c")), apptest.PoolOf(apptest.Listed("a", "disabled = true")),
			"[providers.anthropic]\nauth = \"passthrough\"\nbase_url = \"" + simtest.ProviderURL + "\"\n", apptest.PoolOf(""),
		} {
			reload(toml)
		}
		after := w.State("b")
		w.Want("cooldown", after.Cooldown, before.Cooldown-time.Since(at))
		w.Want("cause", after.Cause, before.Cause)
		w.Want("requests", after.Requests, before.Requests)
		w.Want("rotations", after.Rotations, before.Rotations)
		w.Want("quota", after.Quota, before.Quota)
		w.Want("turn afterwards", w.MustServe("", simtest.PlainModel), "c")
	})
}

// CFG-50: a file with a mistake changes nothing, and the log has the reason, once for each version of the file.
func TestBrokenFileChangesNothing(t *testing.T) {
	const condition = "configuration not reloaded"
	good := apptest.PoolOf(apptest.Listed("a"))
	for name, c := range map[string]struct {
		toml  string
		words []string
	}{
		"syntax":      {good + "\n[server", []string{"shunt.toml"}},
		"unknown key": {good + "\n[server]\nbnid = \"127.0.0.1:1\"\n", []string{"bnid", "bind"}},
		"bad value":   {apptest.PoolOf(apptest.Listed("a", "threshold = 2")), []string{"threshold"}},
		"no provider": {"[server]\ndefault_provider = \"nope\"\n", []string{"default_provider"}},
		"not https":   {"[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"http://example.com\"\n", []string{"base_url"}},
		"empty":       {"", []string{"empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, sim.Config{Accounts: simtest.Accounts(1)}, good, func(w *world, reload func(string)) {
				w.Provider.Inject("a", sim.Unauthorized().Times(2))
				w.Request("", simtest.PlainModel, true)
				reload(c.toml)
				w.Want("conditions", w.Conditions(), condition)
				w.Want("log lines", w.Logged("running configuration stays"), 1)
				w.Want("log lines that say why", w.Logged(append(c.words, "running configuration stays")...), 1)
				w.Want("cause", w.State("a").Cause.String(), "unauthorized")
				w.Want("served by", w.MustServe("", simtest.PlainModel), "a")
				time.Sleep(time.Minute)
				w.Want("log lines after a minute", w.Logged("running configuration stays"), 1)

				reload(good + "\nanother = \"mistake\"\n")
				w.Want("log lines of another mistake", w.Logged("running configuration stays", "another"), 1)
				w.Want("conditions", w.Conditions(), condition)

				reload(good)
				w.Want("conditions after the repair", w.Conditions(), "")
				w.Want("served by", w.MustServe("", simtest.PlainModel), "a")
			})
		})
	}
}

// CFG-50: nor does a file that is gone, or a directory in its place.
func TestMissingFileChangesNothing(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		w.Must(os.Remove(w.File))
		time.Sleep(2 * time.Second)
		w.Want("conditions without a file", w.Conditions(), "configuration not reloaded")
		w.Must(os.Mkdir(w.File, 0o700))
		w.HangUp()
		w.Want("log lines", w.Logged("running configuration stays"), 2)
		w.Put("b", w.Provider.Credentials("a"))
		simtest.Second()
		w.Want("members after a change of the store", w.members(), "a b")
		w.MustServe("", simtest.PlainModel)
		w.Must(os.Remove(w.File))
		w.Must(os.WriteFile(w.File, []byte(apptest.PoolOf("")), 0o600))
		time.Sleep(2 * time.Second)
		w.Want("conditions with one", w.Conditions(), "")
	})
}

// CFG-51: a setting that needs a restart is named when it changes, and goes on as it was; the others of the same file
// take effect.
func TestRestartOnlySettings(t *testing.T) {
	inBoth(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world, reload func(string)) {
		reload(`[server]
bind = "127.0.0.1:4001"
max_concurrent_requests = 1
[server.limits]
max_request_header_bytes = 10
max_url_length = 5
max_request_bytes = 1000
[server.timeouts]
read_header_ms = 1
[log]
format = "json"
` + apptest.PoolOf(apptest.Listed("b")))
		for _, key := range []string{
			"server.bind", "server.max_concurrent_requests", "server.limits.max_request_header_bytes", "server.limits.max_url_length",
			"server.timeouts.read_header_ms", "log.format",
		} {
			w.Want("log lines about "+key, w.Logged("next start", "key="+key), 1)
		}
		w.Want("log lines", w.Logged("next start"), 6)
		w.Want("served by", w.MustServe("", simtest.PlainModel), "b")
		body := simtest.Body(simtest.PlainModel, true)
		large := w.Post(w.Context(), sim.MessagesPath, "", body[:len(body)-1]+`,"x":"`+strings.Repeat("x", 1000)+`"}`)
		w.Want("status of a large body", large.Status, http.StatusRequestEntityTooLarge)
	})
}

// CFG-50: where a provider is and how it is spoken to changes with the next request; one that has begun goes on with what
// it began with, its resends included.
func TestReloadMovesAProvider(t *testing.T) {
	inBoth(t, sim.Config{Accounts: append(simtest.Accounts(1), sim.Account{Name: "paid", APIKey: "paid-key"})}, apptest.PoolOf(""), func(w *world, reload func(string)) {
		host := func() string {
			requests := w.Provider.Requests()
			return requests[len(requests)-1].Host
		}
		w.MustServe("s", simtest.PlainModel)
		w.Want("host", host(), "127.0.0.1:8001")

		w.Provider.Inject("a", sim.Throttled("5").Times(1))
		begun := w.Begin(w.Context(), "s", simtest.PlainModel)
		synctest.Wait()
		reload("[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"http://localhost:9009/base\"\n")
		before := w.Seen()
		r := w.Request("s", simtest.PlainModel, true)
		w.Want("status", r.Status, http.StatusNotFound) // the simulated provider knows no such path
		w.Want("host", host(), "localhost:9009")
		w.Want("path", w.Provider.Requests()[before].Path, "/base"+sim.MessagesPath)
		if r := <-begun; r.Status != http.StatusOK || r.Account != "a" {
			w.Errorf("the request before: %d by %q", r.Status, r.Account)
		}
		w.Want("host of the request before", host(), "127.0.0.1:8001")

		for _, c := range []struct{ keys, header, account string }{
			{"auth = \"passthrough\"", "Bearer the-clients-own", ""},
			{"auth = \"api_key\"\napi_key_env = \"TEST_KEY\"", "Bearer paid-key", ""},
			{"auth = \"claude_oauth\"", "Bearer " + w.Provider.Token("a"), "a"},
		} {
			reload("[providers.anthropic]\nbase_url = \"" + simtest.ProviderURL + "\"\n" + c.keys + "\n")
			w.Want(c.keys, w.Request("s", simtest.PlainModel, true).Account, c.account)
			synctest.Wait()
			requests := w.Provider.Requests()
			w.Want("authorization", requests[len(requests)-1].Header.Get("Authorization"), c.header)
		}
	})
}

// CFG-50, ID-1: the default provider changes with the next request; two pools that list one entry of the store share what
// is known of it, and their sessions.
func TestReloadSwitchesTheDefaultProvider(t *testing.T) {
	pools := func(name string) string {
		return "[server]\ndefault_provider = \"" + name + "\"\n" + apptest.PoolOf("") +
			"[providers.other]\nauth = \"claude_oauth\"\nbase_url = \"" + simtest.ProviderURL + "\"\n[[providers.other.accounts]]\nname = \"a\"\n"
	}
	inBoth(t, sim.Config{Accounts: simtest.Accounts(2)}, pools("anthropic"), func(w *world, reload func(string)) {
		w.Provider.Inject("a", sim.ServerError(500).Times(1))
		w.MustServe("", simtest.PlainModel)
		w.MustServe("", simtest.PlainModel)
		cooldown := w.State("a").Cooldown
		if cooldown == 0 {
			w.Fatalf("a does not cool down")
		}
		other := w.App.Pool("other")
		if len(other) != 1 || other[0].Cooldown != cooldown {
			w.Errorf("the other pool: %+v", other)
		}
		w.Provider.Inject("a", sim.Throttled("5").Times(1))
		begun := w.Begin(w.Context(), "", simtest.PlainModel)
		synctest.Wait()
		reload(pools("other"))
		r := w.Request("", simtest.PlainModel, true)
		w.Want("served by", r.Account, "a")
		w.Want("x-gateway-upstream", r.Header.Get("X-Gateway-Upstream"), "other")
		w.Want("cooldown in the first pool", w.State("a").Cooldown, time.Duration(0))
		w.Want("x-gateway-upstream of a request before", (<-begun).Header.Get("X-Gateway-Upstream"), "anthropic")
		w.Stale("a")
		simtest.Second()
		w.MustServe("", simtest.PlainModel)
		w.Want("refreshes", len(w.Refreshes()), 1)
	})
}

// SEL-20, CFG-50: a threshold that changes moves the sessions of an account that is now near its quota, and brings them
// back.
func TestReloadChangesThresholds(t *testing.T) {
	list := func(keys ...string) string { return apptest.PoolOf(apptest.Listed("a", keys...) + apptest.Listed("b")) }
	inBoth(t, sim.Config{Accounts: simtest.Accounts(2)}, list(), func(w *world, reload func(string)) {
		w.Provider.Fill("a", messages.FiveHour, 0.6)
		homes := w.Homes()
		reload(list("threshold_5h = 0.5"))
		for session := range homes {
			w.Want(session, w.MustServe(session, simtest.PlainModel), "b")
		}
		reload(list("threshold_5h = 0.7"))
		for session, home := range homes {
			w.Want(session, w.MustServe(session, simtest.PlainModel), home)
		}
	})
}

// CFG-4, CFG-50: a SIGHUP resolves references anew although the file is the same, and a SIGHUP that changes nothing is
// harmless.
func TestHangupResolvesReferences(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, "placeholder = 1", func(w *world) {
		for range 3 {
			w.HangUp()
		}
		w.MustServe("", simtest.PlainModel)
		w.Must(os.WriteFile(w.At("url"), []byte("http://localhost:9009\n"), 0o600))
		time.Sleep(5 * time.Second)
		w.MustServe("", simtest.PlainModel)
		w.HangUp()
		w.MustServe("", simtest.PlainModel)
		var hosts []string
		for _, r := range w.Provider.Requests() {
			hosts = append(hosts, r.Host)
		}
		w.Want("hosts", strings.Join(hosts, " "), "127.0.0.1:8001 127.0.0.1:8001 localhost:9009")
	}, func(w *world) {
		w.Must(os.WriteFile(w.At("url"), []byte(simtest.ProviderURL), 0o600))
		w.Must(os.WriteFile(w.File, []byte("[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"${file:"+w.At("url")+"}\"\n"), 0o600))
	})
}

// CFG-50: requests do not notice that shunt is reloaded all the time, nor that the store changes.
func TestRequestsDuringReloads(t *testing.T) {
	list := func(i int) string {
		return apptest.PoolOf(apptest.Listed("a", fmt.Sprintf("priority = %d", i)) + apptest.Listed("b", fmt.Sprintf("disabled = %v", i%2 == 0)) + apptest.Listed("c"))
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3), Pace: sim.Pace{FirstByte: 30 * time.Millisecond, Delta: time.Millisecond}}, list(0), func(w *world) {
		var clients sync.WaitGroup
		for i := range 20 {
			clients.Go(func() {
				for range 10 {
					if r := w.Request(fmt.Sprint(i), simtest.PlainModel, true); r.Status != 200 || r.Err != nil {
						w.Errorf("%d, %v: %s", r.Status, r.Err, r.Body)
					}
				}
			})
		}
		for i := range 50 {
			w.Must(os.WriteFile(w.File, []byte(list(i)), 0o600))
			w.HUP <- struct{}{}
			w.Put("c", w.Provider.Login("c"))
			time.Sleep(11 * time.Millisecond)
		}
		clients.Wait()
	})
}

// CFG-50, [log]: the level and the request log follow a reload.
func TestReloadChangesTheLog(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		first, later := w.At("first.log"), w.At("later.log")
		lines := func(path string) int {
			time.Sleep(time.Second)
			data, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				w.Fatal(err)
			}
			return strings.Count(string(data), "\n")
		}
		log := func(keys string) { w.Reload(apptest.PoolOf("") + "[log]\n" + keys + "\n") }
		log(`requests = "` + first + `"`)
		w.MustServe("", simtest.PlainModel)
		w.Want("records after the log was switched on", lines(first), 1)
		log(`requests = "` + later + `"`)
		w.MustServe("", simtest.PlainModel)
		w.Want("records in the first", lines(first), 1)
		w.Want("records in the later", lines(later), 1)
		w.Must(os.Rename(later, later+".1"))
		w.HangUp()
		w.MustServe("", simtest.PlainModel)
		w.Want("records after a rotation", lines(later), 1)
		log(`requests = "/proc/none/requests.log"`)
		w.MustServe("", simtest.PlainModel)
		w.Want("records where the new one cannot be opened", lines(later), 2)
		w.Want("log lines", w.Logged("level=ERROR", "request log"), 1)
		log(`level = "error"`)
		before := w.Logged("msg=request")
		w.MustServe("", simtest.PlainModel)
		w.Want("records after the log was switched off", lines(later), 2)
		w.Want("request lines of the log", w.Logged("msg=request"), before)
	})
}

// CFG-50: a request that is still coming when the accounts change is served by what there was when it began. Where the
// file of its account has gone meanwhile, that may be another account.
func TestSlowRequestDuringAChange(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, home, other string)
		stays  bool
	}{
		"other accounts":   {func(w *world, _, other string) { w.Reload(apptest.PoolOf(apptest.Listed(other))) }, true},
		"all switched off": {func(w *world, home, _ string) { w.Reload(apptest.PoolOf(apptest.Listed(home, "disabled = true"))) }, true},
		"no pool":          {func(w *world, _, _ string) { w.Reload("[providers.anthropic]\nbase_url = \"http://localhost:9009\"\n") }, true},
		"renamed":          {func(w *world, home, _ string) { w.Must(os.Rename(w.Entry(home), w.Entry("z"))); simtest.Second() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
				home := w.MustServe("s", simtest.PlainModel)
				other := map[string]string{"a": "b", "b": "a"}[home]
				body := simtest.Body(simtest.PlainModel, true)
				body = body[:len(body)-1] + `,"system":"` + strings.Repeat("x", 20_000) + `"}` // more than the client holds back
				reader, writer := io.Pipe()
				response := make(chan simtest.Reply, 1)
				go func() { response <- w.postFrom(reader, int64(len(body)), "s") }()
				_, err := io.WriteString(writer, body[:10_000])
				w.Must(err)
				synctest.Wait()
				c.change(w, home, other)
				_, err = io.WriteString(writer, body[10_000:])
				w.Must(err)
				w.Must(writer.Close())
				if r := <-response; r.Status != http.StatusOK || r.Account != home && (c.stays || r.Account != other) {
					w.Errorf("%d by %q, home is %q: %.300s", r.Status, r.Account, home, r.Body)
				}
			})
		})
	}
}

// postFrom sends a request whose body is still being written.
func (w *world) postFrom(body io.Reader, length int64, session string) simtest.Reply {
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, simtest.GatewayURL+sim.MessagesPath, body)
	if err != nil {
		return simtest.Reply{Err: err}
	}
	request.ContentLength = length
	request.Header.Set("Anthropic-Version", "2023-06-01")
	request.Header.Set("X-Claude-Code-Session-Id", session)
	response, err := w.Client.Do(request)
	if err != nil {
		return simtest.Reply{Err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return simtest.Reply{Status: response.StatusCode, Account: response.Header.Get("X-Shunt-Account"), Body: string(text), Err: err}
}
