package account_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/family"
	"shunt/internal/family/chatgpt"
	"shunt/internal/family/kimi"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/secret"
	simchatgpt "shunt/internal/sim/chatgpt"
	simkimi "shunt/internal/sim/kimi"
	"shunt/internal/store"
)

// inChatGPT runs a test with virtual time and accounts whose tokens say whose they are.
func inChatGPT(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, forms[1])) })
}

// GPT-3: the file of an entry holds the login of another account, or of another user of the account. Until the accounts are
// resolved again, that login is neither used for the entry nor refreshed or overwritten, not even by a refresh in flight.
func TestFileOfAnotherAccount(t *testing.T) {
	for name, swap := range map[string]*strings.Replacer{
		"account": strings.NewReplacer(`"account_id":"acc"`, `"account_id":"other"`),
		"user":    strings.NewReplacer(),
	} {
		for _, inFlight := range []bool{false, true} {
			inChatGPT(t, func(w *world) {
				w.login("a", time.Hour)
				a := w.account()
				w.wants(name+": key", a.Key(), identity.OfAccount("claude", "acc", "a"))
				w.delay = func(string) time.Duration { return 10 * time.Second }
				other := swap.Replace(w.file("tok-oat-b#9", "tok-ort-b#9", time.Now().Add(time.Minute)))
				if !inFlight {
					w.write("a.json", other)
				} else {
					time.AfterFunc(5*time.Second, func() { w.write("a.json", other) })
				}
				token, err := a.Renew(w.Context(), w.secret("tok-oat-a#1"))
				if err == nil || !strings.HasSuffix(err.Error(), "its file now holds the login of another account, which shunt uses once it has reloaded the accounts") {
					w.Errorf("%s: %v, %v", name, token, err)
				}
				if _, err := a.Token(w.Context()); err == nil {
					w.Errorf("%s: there is a token", name)
				}
				end := w.run()
				time.Sleep(time.Hour)
				end()
				w.wants(name+": file", w.read("a.json"), other)
				w.wants(name+": calls", w.count() > 0, inFlight)
				select {
				case <-w.keeper.Changes():
				default:
					w.Errorf("%s: the change is not reported", name)
				}
				_, unresolvable := a.Token(w.Context())
				w.wants(name+": unresolvable", unresolvable != nil, true)

				w.endpoint.mu.Lock()
				w.valid["tok-ort-b#9"] = true
				w.endpoint.mu.Unlock()
				reloaded := w.account()
				w.wants(name+": token", strings.HasPrefix(w.token(reloaded), "tok-oat-b#"), true)
				w.wants(name+": same identity", reloaded.Key() == a.Key(), false)
				w.close()
			})
		}
	}
}

// GPT-2: a token that does not say when it expires is used until a 401, and is then refreshed.
func TestTokenWithoutExpiry(t *testing.T) {
	inChatGPT(t, func(w *world) {
		w.valid["tok-ort-a#0"] = true
		w.write("a.json", w.form.file("tok-opaque", "tok-ort-a#0", time.Time{}, time.Now()))
		a := w.account()
		end := w.run()
		time.Sleep(3 * 24 * time.Hour)
		w.wants("token", w.token(a), "tok-opaque")
		w.wants("calls", w.count(), 0)
		w.wants("renewed", w.renewed(a, "tok-opaque"), "tok-oat-a#1")
		w.wants("file", w.read("a.json"), w.file("tok-oat-a#1", "tok-ort-a#1", time.Now().Add(w.lifetime)))
		end()
		w.close()
	})
}

// GPT-4: the account and the user together are the identity; a UUID in the configuration takes precedence, and does not change
// which account requests name. A token in the environment says the same.
func TestIdentityOfUsers(t *testing.T) {
	inChatGPT(t, func(w *world) {
		w.login("a", time.Hour)
		w.login("b", time.Hour)
		w.env["TOKEN"] = jwt("tok-oat-c#1", time.Now().Add(time.Hour))
		w.env["OPAQUE"] = "tok-opaque"
		accounts, warnings := w.keeper.Resolve(listings(sets{"p": {
			{Name: "a"}, {Name: "b"}, {Name: "c", TokenEnv: "TOKEN"}, {Name: "d", TokenEnv: "OPAQUE"}, {Name: "a", UUID: "mine"},
		}}))
		w.wants("first warning", warnings[0], "account p/d has no credential: the variable OPAQUE: it does not name an account, and neither do its tokens: log in again")
		for i, want := range []identity.Key{
			identity.OfAccount("claude", "acc", "a"), identity.OfAccount("claude", "acc", "b"), identity.OfAccount("claude", "acc", "c"),
			identity.OfInline("claude", "p", "d"), identity.OfAccount("claude", "mine", ""),
		} {
			a := accounts["p"][i]
			if a.Key() != want || i != 3 && a.ID() != "acc" {
				w.Errorf("%d: %q, %s", i, a.Key(), a.ID())
			}
		}
		c := accounts["p"][2]
		w.wants("token", w.token(c), "tok-oat-c#1")
		w.wants("refreshable", c.Refreshable(), false)
		time.Sleep(time.Hour)
		w.tokenFails(c, account.ErrNeedsLogin)
		w.close()
	})
}

// GPT-3: each token in a response replaces its own. A refresh token that comes without an access token is kept, and the refresh
// has failed.
func TestResponseWithoutAccessToken(t *testing.T) {
	inChatGPT(t, func(w *world) {
		w.login("a", time.Minute)
		a := w.account()
		w.transform = func(reply string) string { return strings.Replace(reply, `"access_token"`, `"ignored"`, 1) }
		w.wants("token", w.token(a), "tok-oat-a#1")
		w.conditions("account claude/a cannot be refreshed")
		if got := w.read("a.json"); !strings.Contains(got, "tok-ort-a#2") || !strings.Contains(got, idToken("tok-oat-a#2")) {
			w.Errorf("file: %s", got)
		}
		w.transform = nil
		time.Sleep(10 * time.Second)
		w.wants("token", w.token(a), "tok-oat-a#3")
		w.conditions()
		w.close()
	})
}

// simulated is a token endpoint that a simulated provider serves without a network.
type simulated struct{ http.Handler }

func (s simulated) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// simulation is a simulated provider with an account a.
type simulation interface {
	http.Handler
	Credentials(account string) []byte
	Token(account string) string
	Refreshes(account string) int64
}

// inSimulation runs a test with the account of a simulated provider.
func inSimulation(t *testing.T, f *family.Family, p simulation, test func(k *account.Keeper, a *account.Account, docs store.Store)) {
	docs := &store.Memory{}
	if _, err := docs.Put(t.Context(), "a.json", p.Credentials("a")); err != nil {
		t.Fatal(err)
	}
	client := oauth.NewClient(f.Vendor, simulated{p})
	k := account.NewKeeper(account.Options{
		Families: []account.Family{{Name: f.Name, Format: f.Credentials, Refresher: client, Dir: filepath.FromSlash("/store")}},
		Open:     func(string) store.Store { return docs },
	})
	accounts, warnings := k.Resolve(map[string]account.Listing{"p": {Family: f.Name}})
	if len(accounts["p"]) != 1 || len(warnings) > 0 {
		t.Fatalf("%v, %q", accounts, warnings)
	}
	test(k, accounts["p"][0], docs)
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// GPT-3: the login that a provider of ChatGPT accounts issued is refreshed after a 401, and written as Codex writes it. A reused
// refresh token needs a login.
func TestSimulatedChatGPT(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simchatgpt.New(simchatgpt.Config{Accounts: []simchatgpt.Account{{Name: "a"}}})
		inSimulation(t, &chatgpt.Family, p, func(_ *account.Keeper, a *account.Account, docs store.Store) {
			old, err := a.Token(t.Context())
			if err != nil || old.Reveal() != p.Token("a") || a.ID() != p.ID("a") {
				t.Fatalf("%v, %s", err, a.ID())
			}
			time.Sleep(time.Minute)
			p.ExpireTokens("a")
			renewed, err := a.Renew(t.Context(), old)
			if err != nil || renewed.Reveal() != p.Token("a") || p.Refreshes("a") != 1 {
				t.Errorf("%v, %d refreshes", err, p.Refreshes("a"))
			}
			doc, err := docs.Get(t.Context(), "a.json")
			if err != nil || !bytes.Equal(doc.Data, p.Credentials("a")) {
				t.Errorf("%v\n%s\n%s", err, doc.Data, p.Credentials("a"))
			}
			a.Confirm(renewed)
			p.Inject("a", simchatgpt.InvalidGrant("refresh_token_reused").Times(1))
			if _, err := a.Renew(t.Context(), renewed); err == nil {
				t.Error("there is a token")
			}
			if reason, _ := a.NeedsLogin(); reason != "the provider no longer accepts its refresh token (refresh_token_reused)" {
				t.Error(reason)
			}
		})
	})
}

// KIMI-2, TOK-2: a token that lives for fifteen minutes is refreshed at most once in half of that, from the device of the login.
func TestSimulatedKimi(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simkimi.New(simkimi.Config{Accounts: []simkimi.Account{{Name: "a"}}})
		inSimulation(t, &kimi.Family, p, func(_ *account.Keeper, a *account.Account, docs store.Store) {
			for range 6 * 60 {
				token, err := a.Token(t.Context())
				if err != nil || token.Reveal() != p.Token("a") {
					t.Fatalf("%v, %v", token, err)
				}
				time.Sleep(10 * time.Second)
			}
			if n := p.Refreshes("a"); n < 3 || n > 8 || a.DeviceID() != p.Device("a") {
				t.Errorf("%d refreshes in an hour, device %s", n, a.DeviceID())
			}
			doc, err := docs.Get(t.Context(), "a.json")
			if err != nil || !bytes.Equal(doc.Data, p.Credentials("a")) {
				t.Errorf("%v\n%s\n%s", err, doc.Data, p.Credentials("a"))
			}
			if _, err := a.Renew(t.Context(), secret.New(p.Token("a"))); err != nil {
				t.Error(err)
			}
		})
	})
}

// KIMI-2: a login without the ID of a device gets one with its first refresh, and keeps it.
func TestDeviceIsGeneratedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, forms[2])
		w.login("a", 0)
		w.write("a.json", strings.Replace(w.read("a.json"), `"deviceId":"device",`, "", 1))
		a := w.account()
		w.token(a)
		device := a.DeviceID()
		w.renewed(a, w.token(a))
		if len(device) != 32 || a.DeviceID() != device || !strings.Contains(w.read("a.json"), device) {
			w.Errorf("%q, then %q in %s", device, a.DeviceID(), w.read("a.json"))
		}
		w.close()
	})
}
