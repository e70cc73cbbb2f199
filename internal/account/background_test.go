package account_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
)

// TOK-2, TOK-7c: a token is renewed when less than 10 minutes are left, before a request would have to wait, and never earlier.
func TestBackgroundRefresh(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", time.Hour)
		a := w.account()
		start := time.Now()
		end := w.run()
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		w.wants("calls with 10 minutes left", w.count(), 0)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		w.wants("calls soon after", w.count(), 1)
		w.wants("token", w.token(a), "tok-oat-a#2")
		time.Sleep(7 * time.Hour)
		w.wants("calls", w.count(), 1)
		time.Sleep(time.Hour)
		w.wants("calls of a second round", w.count(), 2)
		if at := w.calls[1].Sub(start); at < 8*time.Hour+40*time.Minute || at > 8*time.Hour+41*time.Minute {
			w.Errorf("the second at %v", at)
		}
		end()
		w.close()
	})
}

// TOK-2: tokens that never have ten minutes left are renewed at half their lifetime, not continually.
func TestShortLivedTokens(t *testing.T) {
	inEach(t, func(w *world) {
		w.lifetime = 8 * time.Minute
		w.login("a", 0)
		w.account()
		end := w.run()
		time.Sleep(time.Hour)
		end()
		w.close()
		if w.count() < 14 {
			w.Errorf("%d calls in an hour", w.count())
		}
		for i, at := range w.calls[1:] {
			if distance := at.Sub(w.calls[i]); distance < 4*time.Minute || distance > 4*time.Minute+4*time.Second {
				w.Errorf("call %d came %v after the one before", i+1, distance)
			}
		}
	})
}

// TOK-7c: after a restart with ten logins that expired long ago, or expire soon, the refreshes are spread out.
func TestRestartIsSpreadOut(t *testing.T) {
	for _, left := range []time.Duration{-time.Hour, 9 * time.Minute} {
		inEach(t, func(w *world) {
			for i := range 10 {
				w.login(fmt.Sprint("a", i), left)
			}
			w.accounts()
			end := w.run()
			time.Sleep(31 * time.Second)
			synctest.Wait()
			w.wants("calls", w.count(), 10)
			for i, at := range w.calls[1:] {
				if distance := at.Sub(w.calls[i]); distance < 2*time.Second {
					w.Errorf("call %d came %v after the one before", i+1, distance)
				}
			}
			end()
			w.close()
		})
	}
}

// TOK-7c: requests for ten expired accounts at once do not cause ten refreshes at once either, and a slow one delays no other.
func TestDemandIsSpreadOut(t *testing.T) {
	inEach(t, func(w *world) {
		for i := range 10 {
			w.login(fmt.Sprint("a", i), 0)
		}
		accounts := w.accounts()
		w.delay = func(refresh string) time.Duration {
			if strings.Contains(refresh, "a0#") {
				return 29 * time.Second
			}
			return 0
		}
		start := time.Now()
		var wg sync.WaitGroup
		for i, a := range accounts {
			wg.Go(func() {
				w.token(a)
				if took := time.Since(start); i > 0 && took > 2*time.Second {
					w.Errorf("%s took %v", a.Name(), took)
				}
			})
		}
		wg.Wait()
		for i, at := range w.calls[1:] {
			if distance := at.Sub(w.calls[i]); distance < 200*time.Millisecond {
				w.Errorf("call %d came %v after the one before", i+1, distance)
			}
		}
		w.close()
	})
}

// TOK-2, TOK-7c: an account whose refreshes fail is retried, but not in a tight loop, and does not delay others.
func TestBackgroundRetries(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", -time.Hour)
		w.login("b", time.Minute)
		accounts := w.accounts()
		w.answer = func(refresh string) string {
			if strings.Contains(refresh, "a#") {
				return `{"error":"overloaded"}`
			}
			return ""
		}
		end := w.run()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		w.wants("token of b", w.token(accounts[1]), "tok-oat-b#3")
		time.Sleep(10 * time.Minute)
		if n := w.count() - 1; n < 8 || n > 15 {
			w.Errorf("%d tries in ten minutes", n)
		}
		w.endpoint.mu.Lock()
		w.answer = nil
		w.endpoint.mu.Unlock()
		time.Sleep(64 * time.Second)
		synctest.Wait()
		w.conditions()
		w.wants("token of a", w.token(accounts[0]), "tok-oat-a#4")
		end()
		w.close()
	})
}

// ACC-4: new, changed and removed files take effect within a second; a write by a refresh is not reported.
func TestStoreChanges(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", time.Hour)
		a := w.account()
		end := w.run()
		news := func(what string, want bool) {
			w.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			select {
			case <-w.keeper.Changes():
				w.wants(what+": news", true, want)
			default:
				w.wants(what+": news", false, want)
			}
		}
		news("start", false)
		w.login("b", time.Hour)
		news("new", true)
		w.wants("accounts", len(w.accounts()), 2)
		news("resolved", false)
		w.write("No Name.json", "{}")
		w.write("notes.txt", "x")
		w.write(".hidden.json", "{}")
		news("no entry", false)
		if err := w.disk.open(storeDir).Remove(w.Context(), "No Name.json"); err != nil {
			w.Fatal(err)
		}

		w.login("b", time.Hour)
		news("changed", true)
		token, err := a.Renew(w.Context(), w.secret(w.token(a)))
		w.wants("renewed", token.Reveal(), "tok-oat-a#4")
		w.wants("error", err, nil)
		news("refreshed by itself", false)

		w.write("b.json", "")
		news("emptied", true)
		_, warnings := w.keeper.Resolve(listings(sets{"claude": nil}))
		w.wants("warnings", warnings, []string{"skipped in the account store: /store/b.json: the file is empty"})
		w.login("b", time.Hour)
		news("filled again", true)
		w.wants("accounts", len(w.accounts()), 2)

		if err := w.disk.open(storeDir).Remove(w.Context(), "a.json"); err != nil {
			w.Fatal(err)
		}
		news("removed", true)
		if _, err := a.Token(w.Context()); err == nil || err.Error() != "account claude/a: cannot find the file /store/a.json" {
			w.Errorf("removed: %v", err)
		}
		w.wants("accounts", len(w.accounts()), 1)
		end()
		w.close()
	})
}

// ACC-1, TOK-7: a change of an inline file is noticed as well, also after the configuration has changed.
func TestInlineChanges(t *testing.T) {
	in(t, func(w *world) {
		home := w.disk.open("/home")
		put := func(n string) {
			w.Helper()
			if _, err := home.Put(w.Context(), ".credentials.json", []byte(w.file("tok-oat-"+n, "tok-ort-"+n, time.Now().Add(time.Hour)))); err != nil {
				w.Fatal(err)
			}
		}
		end := w.run()
		spec := account.Spec{Name: "a", Credentials: "/home/.credentials.json"}
		accounts, warnings := w.keeper.Resolve(listings(sets{"p": {spec}}))
		w.wants("warnings", warnings, []string{"account p/a has no credential: cannot find the file /home/.credentials.json"})
		a := accounts["p"][0]
		put("1")
		time.Sleep(time.Second)
		synctest.Wait()
		w.wants("token", w.token(a), "tok-oat-1")
		w.wants("told", w.changes()[0], a.Key())
		<-w.keeper.Changes()
		put("2")
		time.Sleep(time.Second)
		synctest.Wait()
		w.wants("token", w.token(a), "tok-oat-2")
		end()
		w.close()
	})
}
