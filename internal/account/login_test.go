package account_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/secret"
)

const needsLogin = "account claude/a needs login"

// TOK-7: after invalid_grant the account needs a login, and its refresh token is never sent again, however often a token
// is requested, until the file has another login.
func TestInvalidGrant(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", time.Minute)
		a := w.account()
		w.valid = map[string]bool{}
		end := w.run()
		defer end()
		time.Sleep(time.Second)
		synctest.Wait()
		reason, marked := a.NeedsLogin()
		w.wants("marked", marked, true)
		w.wants("reason", reason, "the provider no longer accepts its refresh token (invalid_grant)")
		w.conditions(needsLogin)
		w.wants("what is left of the token is used", w.token(a), "tok-oat-a#1")

		time.Sleep(time.Hour)
		for range 3 {
			token, err := a.Token(w.Context())
			w.fails(token, err, account.ErrNeedsLogin)
			token, err = a.Renew(w.Context(), w.secret("tok-oat-a#1"))
			w.fails(token, err, account.ErrNeedsLogin)
		}
		w.wants("calls", w.count(), 1)
		w.wants("changes", len(w.changes()), 0)

		w.login("a", 0)
		time.Sleep(time.Second)
		synctest.Wait()
		_, marked = a.NeedsLogin()
		w.wants("marked after a login", marked, false)
		w.conditions()
		w.wants("token", w.token(a), "tok-oat-a#3")
		w.wants("told", w.changes()[0], a.Key())
		end()
		w.close()
	})
}

// TOK-7: a 2xx clears the need for a login, but the rejected refresh token stays rejected.
func TestConfirm(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", time.Minute)
		a := w.account()
		w.valid = map[string]bool{}
		used, err := a.Token(w.Context())
		w.wants("error", err, nil)
		w.conditions(needsLogin)
		a.Confirm(w.secret("tok-another"))
		w.conditions(needsLogin)
		a.Confirm(used)
		w.conditions()
		w.wants("token", w.token(a), "tok-oat-a#1")
		w.conditions()
		time.Sleep(time.Minute)
		token, err := a.Token(w.Context())
		w.fails(token, err, account.ErrNeedsLogin)
		w.conditions(needsLogin)
		w.wants("calls", w.count(), 1)
		w.close()
	})
}

// 5-failover, TOK-7: after a 403 that rejects the credential, the account needs a login as well, and is not refreshed.
func TestMarkNeedsLogin(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", 400*time.Second)
		a := w.account()
		a.MarkNeedsLogin(secret.New("an older one"), "organization disabled")
		w.conditions()
		a.MarkNeedsLogin(w.secret("tok-oat-a#1"), "organization disabled")
		reason, marked := a.NeedsLogin()
		w.wants("marked", marked, true)
		w.wants("reason", reason, "organization disabled")
		w.conditions(needsLogin)
		end := w.run()
		w.wants("token", w.token(a), "tok-oat-a#1")
		time.Sleep(200 * time.Second)
		w.wants("stale token", w.token(a), "tok-oat-a#1")
		time.Sleep(time.Hour)
		token, err := a.Token(w.Context())
		w.fails(token, err, account.ErrNeedsLogin)
		w.wants("calls", w.count(), 0)
		a.Confirm(w.secret("tok-oat-a#1"))
		_, marked = a.NeedsLogin()
		w.wants("marked after a success", marked, false)
		w.wants("token", w.token(a), "tok-oat-a#2")
		end()
		w.close()
	})
}

// GPT-7: why the provider does not serve the account is a condition until a success.
func TestExclude(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", 400*time.Second)
		a := w.account()
		const excluded = "account claude/a cannot serve"
		a.Exclude(secret.New("an older one"), "no plan")
		w.conditions()
		a.Exclude(w.secret("tok-oat-a#1"), "no plan")
		w.conditions(excluded)
		a.Confirm(w.secret("tok-oat-a#1"))
		w.conditions()
		w.close()
	})
}

// TOK-7, TOK-7b: neither prose nor any other failure makes the account need a login.
func TestOtherFailuresMarkNothing(t *testing.T) {
	for _, reply := range []string{
		`{"error":"invalid_request","error_description":"invalid_grant"}`, `invalid_grant`, `{"error":{"type":"invalid_grant"}}`,
		`{"error":"invalid_client"}`, ` `,
	} {
		in(t, func(w *world) {
			w.login("a", time.Minute)
			a := w.account()
			w.answer = func(string) string { return reply }
			w.token(a)
			_, marked := a.NeedsLogin()
			w.wants(reply+": marked", marked, false)
			w.conditions("account claude/a cannot be refreshed")
			w.close()
		})
	}
}

// TOK-4, TOK-7b: another program writes another login to the file, before the refresh or while it fails. That login is
// used, and the account does not need a login.
func TestAnotherProgramRefreshedFirst(t *testing.T) {
	for name, when := range map[string]func(w *world, put func()){
		"before": func(_ *world, put func()) { put() },
		"while": func(w *world, put func()) {
			w.answer = func(string) string { put(); return `{"error":"invalid_grant"}` }
		},
		"while it fails otherwise": func(w *world, put func()) {
			w.answer = func(string) string { put(); return `{"error":"slow_down"}` }
		},
	} {
		inEach(t, func(w *world) {
			w.login("a", 0)
			a := w.account()
			when(w, func() { w.write("a.json", w.file("tok-oat-new", "tok-ort-new", time.Now().Add(time.Minute))) })
			w.wants(name+": token", w.token(a), "tok-oat-new")
			_, marked := a.NeedsLogin()
			w.wants(name+": marked", marked, false)
			w.conditions()
			w.wants(name+": told", len(w.changes()), 1)
			w.close()
		})
	}
}

// TOK-5, TOK-7b: a refresh does not overwrite a new login that is written while it runs.
func TestLoginDuringRefresh(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		w.delay = func(string) time.Duration { return 10 * time.Second }
		end := w.run()
		want := w.file("tok-oat-new", "tok-ort-new", time.Now().Add(time.Hour))
		go func() { time.Sleep(5 * time.Second); w.write("a.json", want) }()
		w.wants("token", w.token(a), "tok-oat-new")
		w.wants("file", w.read("a.json"), want)
		end()
		w.close()
	})
}

// ACC-1: a program that ignores leases writes its own members during the write-back.
func TestForeignWriteDuringWriteBack(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		writes := 0
		w.disk.before = func() {
			if writes++; writes <= 3 {
				w.write("a.json", strings.Replace(w.read("a.json"), `"scopes":["a"`, `"scopes":["a","b"`, 1))
			}
		}
		w.token(a)
		want := strings.Replace(w.file("tok-oat-a#2", "tok-ort-a#2", time.Now().Add(8*time.Hour)), `["a"]`, `["a","b","b","b"]`, 1)
		w.wants("file", w.read("a.json"), want)
		w.close()
	})
}

// TOK-5: a program that still has the old login in memory writes it back. The provider would reject it, so the rotated
// one replaces it again.
func TestSpentLoginIsPutBack(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		old := w.read("a.json")
		a := w.account()
		end := w.run()
		w.wants("token", w.token(a), "tok-oat-a#2")
		w.write("a.json", strings.Replace(old, "1.50", "2.50", 1))
		time.Sleep(4 * time.Second)
		synctest.Wait()
		w.wants("token", w.token(a), "tok-oat-a#2")
		if got := w.read("a.json"); !strings.Contains(got, "tok-ort-a#2") || !strings.Contains(got, "2.50") {
			w.Errorf("file: %s", got)
		}
		w.wants("calls", w.count(), 1)
		end()
		w.close()
	})
}

// TOK-7e: two files with one login are refreshed once, both get the new login, and there is a warning.
func TestSharedLogin(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		w.write("b.json", strings.Replace(w.read("a.json"), "1.50", "2.50", 1))
		accounts, warnings := w.keeper.Resolve(listings(sets{"claude": nil}))
		w.wants("last warning", warnings[len(warnings)-1], "/store/a.json and /store/b.json have the same login: a refresh of one "+
			"invalidates the others, so shunt writes it to all of them; log in to each separately")
		end := w.run()
		tokens := make(chan string)
		for _, a := range accounts["claude"] {
			go func() { tokens <- w.token(a) }()
		}
		w.wants("token", <-tokens, "tok-oat-a#2")
		w.wants("token", <-tokens, "tok-oat-a#2")
		w.wants("calls", w.count(), 1)
		time.Sleep(time.Minute)
		for name, number := range map[string]string{"a.json": "1.50", "b.json": "2.50"} {
			if got := w.read(name); !strings.Contains(got, "tok-ort-a#2") || !strings.Contains(got, number) {
				w.Errorf("%s: %s", name, got)
			}
		}
		w.valid = map[string]bool{}
		for _, a := range accounts["claude"] {
			token, err := a.Renew(w.Context(), w.secret("tok-oat-a#2"))
			w.fails(token, err, account.ErrNeedsLogin)
		}
		w.wants("calls", w.count(), 2)
		end()
		w.close()
	})
}

// TOK-4: two logins of one account are never refreshed at the same time; those of two accounts are.
func TestOneRefreshPerIdentity(t *testing.T) {
	for uuid, most := range map[string]int{"u-1": 1, "": 2} {
		in(t, func(w *world) {
			w.login("a", 0)
			w.login("b", 0)
			w.delay = func(string) time.Duration { return 10 * time.Second }
			accounts, _ := w.keeper.Resolve(listings(sets{"p": {{Name: "a", UUID: uuid}, {Name: "b", UUID: uuid}}}))
			done := make(chan string)
			for _, a := range accounts["p"] {
				go func() { done <- w.token(a) }()
			}
			<-done
			<-done
			w.wants("calls", w.count(), 2)
			w.wants("at once", w.most, most)
			w.close()
		})
	}
}
