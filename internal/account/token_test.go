package account_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/secret"
)

var clockZero clock.Clock

func overloaded(string) string { return `{"error":"overloaded"}` }

// in runs a test with virtual time. See also inEach.
func in(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, forms[0])) })
}

// TOK-1: more than 300 s left is fresh; exactly 300 s, none, or no expiry at all is stale.
func TestTokenFreshness(t *testing.T) {
	for left, calls := range map[time.Duration]int{
		301 * time.Second: 0, 300 * time.Second: 1, 0: 1, -time.Hour: 1, -100 * 365 * 24 * time.Hour: 1,
	} {
		in(t, func(w *world) {
			w.login("a", left)
			w.token(w.account())
			w.wants(left.String()+" left: calls", w.count(), calls)
			w.close()
		})
	}
	in(t, func(w *world) {
		w.login("a", time.Hour)
		w.write("a.json", strings.ReplaceAll(w.read("a.json"), "expiresAt", "somethingElse"))
		w.wants("no expiry: token", w.token(w.account()), "tok-oat-a#2")
		w.close()
	})
}

// ACC-1, TOK-3, TOK-5: a refresh is on disk, with everything else as it was, before anything has its token.
func TestTokenIsDurableBeforeUse(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		writing, go_ := make(chan struct{}), make(chan struct{})
		w.disk.before = func() { close(writing); <-go_ }
		tokens := make(chan string)
		for range 2 {
			go func() { tokens <- w.token(a) }()
		}
		<-writing
		synctest.Wait()
		select {
		case token := <-tokens:
			w.Errorf("%s is in use before it is durable", token)
		default:
		}
		close(go_)
		w.wants("token", <-tokens, "tok-oat-a#2")
		w.wants("token", <-tokens, "tok-oat-a#2")
		w.wants("file", w.read("a.json"), w.file("tok-oat-a#2", "tok-ort-a#2", time.Now().Add(8*time.Hour)))
		w.wants("changes", len(w.changes()), 1)
		w.close()
	})
}

// TOK-4: callers that need a refresh while one is in flight share it.
func TestTokenSingleFlight(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		w.delay = func(string) time.Duration { return 10 * time.Second }
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				w.wants("token", w.token(a), "tok-oat-a#2")
			})
		}
		wg.Wait()
		w.wants("calls", w.count(), 1)
		w.close()
	})
}

// TOK-5: a client that disconnects ends its wait, not the refresh.
func TestRefreshSurvivesItsCaller(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		w.delay = func(string) time.Duration { return 10 * time.Second }
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		start := time.Now()
		token, err := a.Token(ctx)
		w.fails(token, err, context.DeadlineExceeded)
		w.wants("waited", time.Since(start), time.Second)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.wants("file", w.read("a.json"), w.file("tok-oat-a#2", "tok-ort-a#2", start.Add(8*time.Hour)))
		w.wants("token", w.token(a), "tok-oat-a#2")
		w.close()
	})
}

// TOK-5: a shutdown waits for the refresh in flight and starts none.
func TestRefreshSurvivesClose(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		w.login("b", 0)
		w.login("c", time.Hour)
		accounts := w.accounts()
		w.delay = func(string) time.Duration { return 29 * time.Second }
		result := make(chan string)
		go func() { result <- w.token(accounts[0]) }()
		synctest.Wait()
		queued := make(chan error)
		go func() { // waits for its turn to call the endpoint
			_, err := accounts[1].Token(w.Context())
			queued <- err
		}()
		synctest.Wait()
		closed := make(chan struct{})
		go func() { w.close(); close(closed) }()
		w.fails(account.Token{}, <-queued, account.ErrClosed)
		select {
		case <-closed:
			w.Error("Close did not wait")
		default:
		}
		w.wants("token", <-result, "tok-oat-a#4")
		<-closed
		w.wants("file", w.read("a.json"), w.file("tok-oat-a#4", "tok-ort-a#4", time.Now().Add(8*time.Hour-29*time.Second)))
		token, err := accounts[1].Token(w.Context())
		w.fails(token, err, account.ErrClosed)
		w.wants("fresh token after Close", w.token(accounts[2]), "tok-oat-c#3")
		w.wants("calls", w.count(), 1)
	})
}

// TOK-7c: a refresh takes at most 30 s, and so does waiting for it at shutdown.
func TestRefreshIsBounded(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		w.delay = func(string) time.Duration { return time.Hour }
		start := time.Now()
		token, err := a.Token(w.Context())
		w.fails(token, err, context.DeadlineExceeded)
		w.wants("took", time.Since(start), 30*time.Second)

		time.Sleep(2 * time.Second)
		go func() { _, _ = a.Token(w.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if err := w.keeper.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("Close = %v", err)
		}
		w.close()
	})
}

// TOK-7c: while refreshes fail an unexpired token is used without a wait, until it expires.
func TestTokenWhileRefreshesFail(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 200*time.Second)
		a := w.account()
		w.answer = overloaded
		w.wants("token", w.token(a), "tok-oat-a#1")
		w.conditions("account claude/a cannot be refreshed")
		w.delay = func(string) time.Duration { return 29 * time.Second }
		start := time.Now()
		w.wants("token", w.token(a), "tok-oat-a#1")
		w.wants("calls", w.count(), 1)
		w.wants("waited", time.Since(start), time.Duration(0))

		time.Sleep(201 * time.Second)
		_, err := a.Token(w.Context())
		if err == nil || err.Error() != "account claude/a: the token endpoint returned status 400 (overloaded)" {
			w.Errorf("expired: %v", err)
		}
		w.answer, w.delay = nil, nil
		calls := w.count()
		_, err = a.Token(w.Context())
		w.wants("at once again", err.Error(), "account claude/a: the token endpoint returned status 400 (overloaded)")
		w.wants("calls", w.count(), calls)
		time.Sleep(2 * time.Second)
		w.wants("after the outage", w.token(a), "tok-oat-a#2")
		w.conditions()
		w.close()
	})
}

// TOK-3: a response without a refresh token keeps the old one.
func TestReplyWithoutRefreshToken(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		w.transform = func(reply string) string {
			return strings.Replace(reply, `"refresh_token"`, `"ignored"`, 1)
		}
		w.wants("token", w.token(a), "tok-oat-a#2")
		w.wants("file", w.read("a.json"), w.file("tok-oat-a#2", "tok-ort-a#1", time.Now().Add(8*time.Hour)))
		w.close()
	})
}

// TOK-4, TOK-7b, 5-failover: a 401 leads to the file's token if that differs, else to a refresh.
func TestRenew(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", time.Hour)
		a := w.account()
		rejected, err := a.Token(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		renewed, err := a.Renew(w.Context(), rejected)
		w.wants("renewed", renewed.Reveal(), "tok-oat-a#2")
		w.wants("error", err, nil)
		renewed, err = a.Renew(w.Context(), rejected) // a second request that was refused with the old token
		w.wants("again", renewed.Reveal(), "tok-oat-a#2")
		w.wants("error", err, nil)
		w.wants("calls", w.count(), 1)

		w.write("a.json", w.file("tok-oat-other", "tok-ort-other", time.Now().Add(time.Hour)))
		renewed, err = a.Renew(w.Context(), renewed)
		w.wants("of the file", renewed.Reveal(), "tok-oat-other")
		w.wants("error", err, nil)
		w.wants("calls", w.count(), 1)

		w.answer = overloaded
		token, err := a.Renew(w.Context(), renewed)
		if err == nil {
			w.Errorf("a failed refresh gave %q", token.Reveal())
		}
		w.close()
	})
}

// ACC-2, ACC-3: setup tokens are used verbatim and never refreshed; an expired one needs a login.
func TestSetupTokens(t *testing.T) {
	in(t, func(w *world) {
		w.env["TOKEN"] = "  tok-env\n"
		w.write("year.json", `{"claudeAiOauth":{"accessToken":"tok-year","refreshToken":"tok-never","expiresAt":`+
			millis(time.Hour)+`,"shuntCredentialKind":"setup_token"},"shuntAccountUuid":"u-1"}`)
		accounts, warnings := w.keeper.Resolve(listings(sets{"p": {{Name: "env", TokenEnv: "TOKEN"}, {Name: "year"}}}))
		w.wants("warnings", warnings, []string{})
		env, year := accounts["p"][0], accounts["p"][1]
		for want, a := range map[string]*account.Account{"tok-env": env, "tok-year": year} {
			w.wants("token", w.token(a), want)
			w.wants("refreshable", a.Refreshable(), false)
			token, err := a.Renew(w.Context(), secret.New(want))
			w.fails(token, err, account.ErrNotRefreshable)
		}
		w.wants("uuid", year.UUID(), "u-1")
		time.Sleep(2 * time.Hour)
		w.wants("token", w.token(env), "tok-env")
		token, err := year.Token(w.Context())
		w.fails(token, err, account.ErrNeedsLogin)
		w.conditions("account p/year needs login")
		w.wants("calls", w.count(), 0)
		w.close()
	})
}
