package app_test

import (
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

const needsLogin = "account anthropic/a needs login"

// TOK-7: a refused refresh token means that a person has to log in again. It is tried once, however many requests come
// in however long a time; a new login works at once and ends what came of the old one.
func TestInvalidGrantNeedsLogin(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		for range 10 {
			w.wants("served by", w.mustServe("", plainModel), "b")
		}
		w.wants("conditions", w.conditions(), needsLogin)
		for range 20 {
			time.Sleep(3 * time.Minute)
			w.wants("served by", w.mustServe("", plainModel), "b")
		}
		w.wants("refreshes", len(w.refreshes()), 1)
		w.wants("conditions after an hour", w.conditions(), needsLogin)
		w.wants("log lines", w.logged("condition began", needsLogin), 1)
		w.wants("it stays behind (SEL-8b)", w.state("a").NeedsLogin, true)

		w.provider.Clear("a")
		w.put("a", w.provider.Login("a"))
		second()
		w.wants("conditions after the login", w.conditions(), "")
		w.wants("rests", w.state("a").Cooldown, time.Duration(0))
		before := w.seen()
		w.mustServe("", plainModel)
		w.mustServe("", plainModel)
		if calls := strings.Join(w.calls(before), " "); calls != "a b" && calls != "b a" {
			w.Errorf("calls %s", calls)
		}
	}, func(w *world) {
		w.stale("a")
		w.provider.Inject("a", sim.InvalidGrant())
	})
}

// TOK-7, 5-failover: the same after a 401, whose answer is then that of the other account.
func TestInvalidGrantAfterUnauthorized(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.mustServe("", plainModel)
		w.provider.ExpireTokens("a")
		w.provider.Inject("a", sim.InvalidGrant())
		for range 5 {
			r := w.ask("", plainModel, true)
			w.wants("status", r.status, http.StatusBadGateway)
		}
		w.wants("refreshes", len(w.refreshes()), 1)
		w.wants("conditions", w.conditions(), needsLogin)
		w.wants("rests", w.state("a").Cooldown, 300*time.Second)
		w.wants("cause", w.state("a").Cause.String(), "unauthorized")
		w.provider.Clear("a")
		w.put("a", w.provider.Login("a"))
		second()
		w.wants("rests after a login", w.state("a").Cooldown, time.Duration(0))
		w.wants("conditions after a login", w.conditions(), "")
		w.mustServe("", plainModel)
	})
}

// TOK-7c: a token that has not expired is used to its end although its refresh was refused; a 2xx shows that nobody has to
// log in yet, but does not have the refresh tried again.
func TestInvalidGrantWhileTheTokenLives(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		time.Sleep(10 * time.Second)
		w.wants("conditions", w.conditions(), needsLogin)
		w.mustServe("", plainModel)
		w.wants("conditions after a success", w.conditions(), "")
		time.Sleep(4 * time.Minute)
		w.mustServe("", plainModel)
		time.Sleep(time.Minute)
		r := w.ask("", plainModel, true)
		if r.status != http.StatusBadGateway {
			w.Errorf("%d: %s", r.status, r.body)
		}
		w.wants("conditions when it has expired", w.conditions(), needsLogin)
		w.wants("refreshes", len(w.refreshes()), 1)
	}, func(w *world) {
		w.put("a", expiring(w.provider.Credentials("a"), 5*time.Minute))
		w.provider.Inject("a", sim.InvalidGrant())
	})
}

// TOK-7b: only the error field decides. Whatever else the endpoint says or does is a failed refresh: the account rests,
// is tried again, and works as soon as the endpoint does.
func TestFailedRefreshIsNoLostLogin(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"500":            sim.ServerError(500).On(sim.TokenPath),
		"429":            sim.Failure(429, messages.TypeRateLimit, "invalid_grant").On(sim.TokenPath),
		"400 with prose": sim.Failure(400, messages.TypeInvalidRequest, "invalid_grant: the refresh token of a needs login").On(sim.TokenPath),
		"401":            sim.Failure(401, messages.TypeAuthentication, "invalid_grant").On(sim.TokenPath),
		"reset":          sim.ResetConnection().On(sim.TokenPath),
		"hang":           sim.Hang().On(sim.TokenPath),
		"redirect":       sim.Redirect(providerURL + "/elsewhere").On(sim.TokenPath), // TOK-7c: not followed
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
				for range 2 {
					w.wants("served by", w.mustServe("", plainModel), "b")
				}
				w.wants("cause", w.state("a").Cause.String(), "unresolved")
				w.wants("conditions", w.conditions(), "account anthropic/a cannot be refreshed")
				w.wants("conditions logged", w.logged("condition began"), 1)
				for _, r := range w.provider.Requests() {
					if r.Path == "/elsewhere" {
						w.Errorf("a redirect was followed")
					}
				}
				w.provider.Clear("a")
				time.Sleep(2 * time.Minute) // the background is at it
				w.wants("conditions afterwards", w.conditions(), "")
				w.wants("rests", w.state("a").Cooldown, time.Duration(0)) // it has a new credential
				w.saved("a")
				w.mustServe("", plainModel)
				w.mustServe("", plainModel)
				w.wants("times served", w.state("a").Requests, uint64(2))
			}, func(w *world) {
				w.stale("a")
				w.provider.Inject("a", fault)
			})
		})
	}
}

// TOK-7c: requests that come by the dozen do not become calls of a token endpoint that is in trouble.
func TestFailingEndpointIsNotStormed(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		for range 600 {
			w.start(w.Context(), "")
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(w.refreshes()); n < 20 || n > 31 {
			w.Errorf("%d calls in a minute", n)
		}
		w.provider.Clear("a")
		time.Sleep(2 * time.Second)
		w.mustServe("", plainModel)
	}, func(w *world) {
		w.stale("a")
		w.provider.Inject("a", sim.ServerError(500).On(sim.TokenPath))
	})
}

// TOK-7: a 403 that refuses the credential needs a login until a 2xx or another credential shows that it does not.
func TestForbiddenNeedsLogin(t *testing.T) {
	for _, end := range []string{"a success", "a login"} {
		t.Run(end, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
				w.provider.Inject("a", sim.CredentialForbidden().Times(1))
				w.wants("status", w.ask("", plainModel, true).status, http.StatusBadGateway)
				w.wants("conditions", w.conditions(), needsLogin)
				w.wants("rests", w.state("a").Cooldown, 300*time.Second)
				if end == "a login" {
					w.put("a", w.provider.Login("a"))
					second()
				} else {
					time.Sleep(time.Minute)
					w.mustServe("", plainModel) // the last resort (SEL-11)
				}
				w.wants("conditions afterwards", w.conditions(), "")
				w.wants("rests afterwards", w.state("a").Cooldown, time.Duration(0))
				w.wants("refreshes", len(w.refreshes()), 0)
			})
		})
	}
}

// TOK-7: a changed credential ends what the old one caused, and nothing else.
func TestLoginEndsOnlyWhatTheCredentialCaused(t *testing.T) {
	for cause, fault := range map[string]sim.Fault{
		"unauthorized": sim.Unauthorized().Times(2), "forbidden": sim.CredentialForbidden().Times(1),
		"server_error": sim.ServerError(500).Times(1), "rejected": sim.Rejected(messages.FiveHour).RetryAfter("600").Times(1),
	} {
		for how, replace := range map[string]func(w *world){
			"in its place": func(w *world) { w.put("a", w.loggedIn("a")); second() },
			"after a gap":  func(w *world) { w.remove("a"); second(); w.put("a", w.loggedIn("a")); second() },
			"renamed":      func(w *world) { w.put("a2", w.loggedIn("a")); w.remove("a"); second() },
		} {
			t.Run(cause+" "+how, func(t *testing.T) {
				inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
					w.provider.Inject("a", fault)
					w.mustServe("", plainModel)
					w.mustServe("", plainModel)
					w.wants("cause", w.state("a").Cause.String(), cause)
					replace(w)
					name := "a"
					if how == "renamed" {
						name = "a2"
					}
					ends := cause == "unauthorized" || cause == "forbidden"
					w.wants("the cooldown has ended", w.state(name).Cooldown == 0, ends)
				}, func(w *world) {
					w.put("a", owned(w.provider.Credentials("a"), w.provider.UUID("a"), ""))
				})
			})
		}
	}
}

// loggedIn is a new login of an account that says whose it is.
func (w *world) loggedIn(account string) []byte {
	return owned(w.provider.Login(account), w.provider.UUID(account), "")
}

// TOK-7: what the provider says of a credential that was replaced meanwhile says nothing of the new one.
func TestLateRefusalOfAnOldCredential(t *testing.T) {
	for name, fault := range map[string]sim.Fault{"403": sim.CredentialForbidden(), "401": sim.Unauthorized()} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
				home := w.mustServe("s", plainModel)
				w.provider.Inject(home, fault.After(5*time.Second).Times(1))
				answer := w.start(w.Context(), "s")
				time.Sleep(2 * time.Second)
				w.put(home, w.provider.Login(home))
				second()
				r := <-answer
				w.wants("status", r.status, http.StatusOK)
				w.wants("conditions", w.conditions(), "")
				w.wants("rests", w.state(home).Cooldown, time.Duration(0))
				w.wants("served by", w.mustServe("s", plainModel), home)
			})
		})
	}
}

// TOK-7d: where the disk cannot be written, the rotated login is used from memory, which is said loudly, and written as
// soon as that is possible. A shutdown tries once more.
func TestUnwritableDisk(t *testing.T) {
	const unsaved = "account anthropic/file cannot be saved"
	// Not even root can write beside a file whose name leaves no room for that of a temporary file.
	long := strings.Repeat("x", 250)
	lock := func(w *world) {
		w.remove("a")
		w.must(os.WriteFile(w.at(long), expiring(w.provider.Credentials("a"), -time.Minute), 0o600))
		w.must(os.Symlink(long, w.at("link.json")))
	}
	unlock := func(w *world) {
		w.must(os.Rename(w.at(long), w.at("short")))
		w.must(os.Symlink("short", w.at("new.json")))
		w.must(os.Rename(w.at("new.json"), w.at("link.json")))
	}
	pool := poolOf(listed("file", `credentials = "~/link.json"`))
	works := func(w *world) {
		w.Helper()
		for range 3 {
			w.mustServe("", plainModel)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			time.Sleep(time.Minute)
		}
		w.wants("conditions", w.conditions(), unsaved)
		w.wants("log lines", w.logged("WARN", "condition began", unsaved), 1)
	}
	inWorld(t, sim.Config{Accounts: accountsOf(1), TokenLifetime: time.Hour}, pool, func(w *world) {
		works(w)
		time.Sleep(time.Hour)
		w.mustServe("", plainModel)
		w.wants("refreshes", len(w.refreshes()), 2)
		w.hup <- struct{}{} // a reload reads the file, which holds what is spent
		second()
		works(w)
		unlock(w)
		time.Sleep(time.Minute)
		w.wants("conditions when it can be written", w.conditions(), "")
		w.wants("login", w.loginIn(w.at("link.json")), w.newest("a"))
		w.mustServe("", plainModel)
		w.wants("refreshes", len(w.refreshes()), 2)
	}, lock)
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, pool, func(w *world) {
		works(w)
		unlock(w)
		if err := w.end(); err != nil {
			w.Errorf("run: %v", err)
		}
		w.wants("login", w.loginIn(w.at("link.json")), w.newest("a"))
	}, lock)
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, pool, func(w *world) {
		works(w)
		err := w.end()
		if err == nil || !strings.Contains(err.Error(), "login of anthropic/file is lost") || strings.Contains(err.Error(), "sk-ant-") {
			w.Errorf("run: %v", err)
		}
	}, lock)
}

// TOK-7e: two entries with one refresh token have one refresher and a warning, and neither loses its login.
func TestTwoEntriesWithOneLogin(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1), TokenLifetime: time.Hour}, poolOf(""), func(w *world) {
		w.wants("warnings", w.logged("WARN", "a.json", "b.json", "same login"), 1)
		for range 4 {
			w.mustServe("", plainModel)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			time.Sleep(30 * time.Minute)
		}
		for _, name := range []string{"a", "b"} {
			w.wants("login of "+name, w.loginIn(w.entry(name)), w.newest("a"))
		}
		w.wants("refreshes", len(w.refreshes()), 3)
		w.wants("conditions", w.conditions(), "")
	}, func(w *world) {
		w.stale("a")
		w.put("b", expiring(w.provider.Credentials("a"), -time.Minute))
	})
}

// TOK-8: no token reaches the log, a condition, a record or an answer, whatever goes wrong, at the most talkative level.
// Every other test looks for the same at its end.
func TestTokensStaySecret(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(3)}, poolOf(""), func(w *world) {
		for _, fault := range []sim.Fault{
			sim.Unauthorized(), sim.CredentialForbidden(), sim.ServerError(500), sim.ResetConnection(), sim.Throttled("1"), sim.Redirect("/x?token=y"),
		} {
			w.provider.Inject("", fault)
			w.provider.Inject("", sim.InvalidGrant().Times(1))
			w.provider.Inject("", sim.ResetConnection().On(sim.TokenPath).Times(1))
			r := w.ask("s", plainModel, true)
			if r.status == http.StatusOK {
				w.Errorf("%d", r.status)
			}
			w.provider.Clear("")
			w.must(os.Truncate(w.entry("c"), 60)) // inside its access token
			time.Sleep(time.Minute)
			w.put("c", w.provider.Login("c"))
		}
		w.post(w.Context(), "/v1/sk-ant-path", "", "")
		w.wants("debug is on", w.logged("level=DEBUG") > 0, true)
	}, func(w *world) {
		w.level.Set(slog.LevelDebug)
		w.stale("a")
		w.stale("b")
	})
}
