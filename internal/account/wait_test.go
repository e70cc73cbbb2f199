package account_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/identity"
)

// TOK-1b: with an unexpired token, a request waits at most a second, whether for the network, the queue, an alias or another
// process; the refresh continues.
func TestUnexpiredTokenIsNotWaitedFor(t *testing.T) {
	slow := func(string) time.Duration { return 30*time.Second - 1 }
	for name, c := range map[string]struct {
		prepare func(w *world, accounts []*account.Account) (release func())
	}{
		"network": {func(w *world, _ []*account.Account) func() {
			w.delay = slow
			return func() {}
		}},
		"alias": {func(w *world, accounts []*account.Account) func() {
			w.delay = slow
			go w.token(accounts[1])
			synctest.Wait()
			return func() {}
		}},
		"lock": {func(w *world, _ []*account.Account) func() {
			lease, err := w.disk.open(storeDir).Lease(w.Context(), "a.json")
			w.wants("error", err, nil)
			return lease.Release
		}},
		"queue": {func(w *world, accounts []*account.Account) func() {
			for _, a := range accounts[2:] {
				go w.token(a)
			}
			synctest.Wait()
			return func() {}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				specs := []account.Spec{{Name: "a", UUID: "u-1"}, {Name: "alias", UUID: "u-1"}}
				w.login("a", 4*time.Minute)
				w.login("alias", 4*time.Minute)
				for i := range 20 {
					name := fmt.Sprint("other", i)
					w.login(name, 4*time.Minute)
					specs = append(specs, account.Spec{Name: name})
				}
				accounts, _ := w.keeper.Resolve(listings(sets{"p": specs}))
				release := c.prepare(w, accounts["p"])
				began := time.Now()
				var requests sync.WaitGroup
				for range 3 {
					requests.Go(func() { w.wants("token", w.token(accounts["p"][0]), "tok-oat-a#1") })
				}
				requests.Wait()
				w.wants("waited", time.Since(began), time.Second)
				release()
				time.Sleep(61 * time.Second)
				synctest.Wait()
				if token := w.token(accounts["p"][0]); !strings.HasPrefix(token, "tok-oat-a#") || token == "tok-oat-a#1" {
					w.Errorf("after the refresh: %s", token)
				}
				w.close()
			})
		})
	}
}

// TOK-1b: if the token expires while a request waits, the request waits for the refresh to end.
func TestTokenExpiresDuringTheWait(t *testing.T) {
	for left, waited := range map[time.Duration]time.Duration{
		0: 20 * time.Second, 500 * time.Millisecond: 20 * time.Second, 2 * time.Second: time.Second,
	} {
		in(t, func(w *world) {
			w.login("a", left)
			a := w.account()
			w.delay = func(string) time.Duration { return 20 * time.Second }
			began := time.Now()
			want := "tok-oat-a#2"
			if waited == time.Second {
				want = "tok-oat-a#1"
			}
			w.wants("token", w.token(a), want)
			w.wants(fmt.Sprintf("waited with %v left", left), time.Since(began), waited)
			w.close()
		})
	}
}

// TOK-7c: a token endpoint that never responds to one account delays no other, neither on demand nor in the background.
func TestHangingRefreshDelaysNoOther(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", 0)
		w.login("b", 0)
		w.login("c", 9*time.Minute)
		accounts := w.accounts()
		w.delay = func(refresh string) time.Duration {
			if strings.Contains(refresh, "-a#") {
				return time.Hour
			}
			return 0
		}
		failed := make(chan error)
		go func() {
			_, err := accounts[0].Token(w.Context())
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		w.wants("token of b", w.token(accounts[1]), "tok-oat-b#5")
		if took := time.Since(began); took > time.Second {
			w.Errorf("b waited %v", took)
		}
		end := w.run()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.wants("refreshed", w.changes(), []identity.Key{accounts[1].Key(), accounts[2].Key()})
		if err := <-failed; time.Since(began) != 30*time.Second || err == nil {
			w.Errorf("a: %v after %v", err, time.Since(began))
		}
		end()
		w.close()
	})
}
