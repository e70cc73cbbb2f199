package account_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/secret"
)

// TOK-9: a token from a refresh after a 401 that is itself rejected is not refreshed again until a request with it succeeds,
// the credential changes, or 10 minutes have passed.
func TestRefreshAfterUnauthorizedIsSpent(t *testing.T) {
	for name, c := range map[string]struct {
		between func(w *world, a *account.Account)
		token   string // of the next Renew; empty: spent
	}{
		"nothing":    {func(*world, *account.Account) {}, ""},
		"10 minutes": {func(*world, *account.Account) { time.Sleep(10 * time.Minute) }, "tok-oat-a#3"},
		"less":       {func(*world, *account.Account) { time.Sleep(10*time.Minute - 1) }, ""},
		"a 2xx":      {func(w *world, a *account.Account) { a.Confirm(w.secret("tok-oat-a#2")) }, "tok-oat-a#3"},
		"a late 2xx of the old token": {func(w *world, a *account.Account) {
			a.Confirm(w.secret("tok-oat-a#1"))
		}, ""},
		"another process": {func(w *world, _ *account.Account) {
			w.write("a.json", w.file("tok-oat-other", "tok-ort-other", time.Now().Add(time.Hour)))
		}, "tok-oat-other"}, // without a watch: it is found when it is needed
	} {
		t.Run(name, func(t *testing.T) {
			inEach(t, func(w *world) {
				w.login("a", 2*time.Hour)
				a := w.account()
				w.wants("token", w.renewed(a, "tok-oat-a#1"), "tok-oat-a#2")
				c.between(w, a)
				if c.token == "" {
					w.spent(a, "tok-oat-a#2")
				} else {
					w.wants("token", w.renewed(a, "tok-oat-a#2"), c.token)
				}
				w.wants("the old token is replaced all the same", w.renewed(a, "tok-oat-a#1"), w.token(a))
				w.close()
			})
		})
	}
}

// TOK-9: after a new login a 401 causes a refresh again.
func TestNewLoginIsRefreshedAfterUnauthorized(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", 2*time.Hour)
		a := w.account()
		w.renewed(a, "tok-oat-a#1")
		w.spent(a, "tok-oat-a#2")
		end := w.run()
		w.login("a", 2*time.Hour)
		time.Sleep(time.Second)
		synctest.Wait()
		w.wants("token", w.renewed(a, "tok-oat-a#3"), "tok-oat-a#4")
		w.spent(a, "tok-oat-a#4")
		end()
		w.close()
	})
}

// TOK-9: a scheduled refresh happens during the outage, and does not allow one after a 401.
func TestScheduledRefreshDuringOutage(t *testing.T) {
	in(t, func(w *world) {
		w.lifetime = 11 * time.Minute
		w.login("a", 2*time.Hour)
		a := w.account()
		w.wants("token", w.renewed(a, "tok-oat-a#1"), "tok-oat-a#2")
		end := w.run()
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		w.wants("refreshes", w.count(), 2)
		w.spent(a, "tok-oat-a#3")
		end()
		w.close()
	})
	// A 401 during a scheduled refresh counts: the new token is the result of a refresh after a 401.
	in(t, func(w *world) {
		w.login("a", time.Minute)
		a := w.account()
		w.delay = func(string) time.Duration { return 10 * time.Second }
		end := w.run()
		time.Sleep(5 * time.Second)
		w.wants("token", w.renewed(a, "tok-oat-a#1"), "tok-oat-a#2")
		w.spent(a, "tok-oat-a#2")
		w.wants("refreshes", w.count(), 1)
		end()
		w.close()
	})
}

// TOK-9: an expired token is refreshed because it has expired.
func TestExpiredTokenIsRefreshedDuringOutage(t *testing.T) {
	in(t, func(w *world) {
		w.lifetime = 6 * time.Minute
		w.login("a", 2*time.Hour)
		a := w.account()
		w.renewed(a, "tok-oat-a#1")
		w.spent(a, "tok-oat-a#2")
		time.Sleep(6 * time.Minute)
		w.wants("token", w.renewed(a, "tok-oat-a#2"), "tok-oat-a#3")
		w.spent(a, "tok-oat-a#3")
		w.close()
	})
}

// TOK-4, TOK-9: twenty requests that are rejected with one token share one refresh, whenever they receive the 401, and twenty
// that are rejected with its result cause none. The same holds for the other entries of the identity, with a login of
// their own or a copy of the same.
func TestUnauthorizedTogether(t *testing.T) {
	for name, second := range map[string]func(w *world){
		"one entry":  func(*world) {},
		"two logins": func(w *world) { w.login("b", 2*time.Hour) },
		"two copies": func(w *world) { w.write("b.json", w.read("a.json")) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.login("a", 2*time.Hour)
				second(w)
				w.delay = func(string) time.Duration { return 3 * time.Second }
				accounts, _ := w.keeper.Resolve(listings(sets{"p": {{Name: "a", UUID: "u-1"}, {Name: "b", UUID: "u-1"}}}))
				for range 3 {
					var wg sync.WaitGroup
					for i := range 20 {
						a := accounts["p"][i%2]
						if a.Missing() {
							a = accounts["p"][0]
						}
						rejected := w.token(a)
						wg.Go(func() {
							time.Sleep(time.Duration(i/2) * 500 * time.Millisecond)
							_, _ = a.Renew(w.Context(), secret.New(rejected))
						})
					}
					wg.Wait()
					w.wants("refreshes", w.count(), 1)
				}
				w.close()
			})
		})
	}
}

// TOK-7e, TOK-9: a login is not refreshed again for a second identity that has it.
func TestUnauthorizedSharedLogin(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", 2*time.Hour)
		w.write("b.json", w.read("a.json"))
		accounts, _ := w.keeper.Resolve(listings(sets{"p": nil}))
		w.wants("token", w.renewed(accounts["p"][0], "tok-oat-a#1"), "tok-oat-a#2")
		w.spent(accounts["p"][1], "tok-oat-a#2")
		w.spent(accounts["p"][0], "tok-oat-a#2")
		w.close()
	})
}

// TOK-9: the state of an identity does not affect its setup tokens.
func TestUnauthorizedSetupToken(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", 2*time.Hour)
		w.env["TOKEN"] = "tok-env"
		accounts, _ := w.keeper.Resolve(listings(sets{"p": {{Name: "a", UUID: "u-1"}, {Name: "env", UUID: "u-1", TokenEnv: "TOKEN"}}}))
		w.renewed(accounts["p"][0], "tok-oat-a#1")
		token, err := accounts["p"][1].Renew(w.Context(), secret.New("tok-env"))
		w.fails(token, err, account.ErrNotRefreshable)
		w.close()
	})
}
