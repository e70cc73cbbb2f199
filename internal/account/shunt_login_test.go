package account_test

import (
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

const lostLogin = "account anthropic/a needs login"

// TOK-7: a refused refresh token means that a person has to log in again. It is tried once, however many requests come
// in however long a time; a new login works at once and ends what came of the old one.
func TestInvalidGrantNeedsLogin(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *apptest.World) {
		for range 10 {
			w.Want("served by", w.MustServe("", simtest.PlainModel), "b")
		}
		w.Want("conditions", w.Conditions(), lostLogin)
		for range 20 {
			time.Sleep(3 * time.Minute)
			w.Want("served by", w.MustServe("", simtest.PlainModel), "b")
		}
		w.Want("refreshes", len(w.Refreshes()), 1)
		w.Want("conditions after an hour", w.Conditions(), lostLogin)
		w.Want("log lines", w.Logged("condition began", lostLogin), 1)
		w.Want("it stays behind (SEL-8b)", w.State("a").NeedsLogin, true)

		w.Provider.Clear("a")
		w.Put("a", w.Provider.Login("a"))
		simtest.Second()
		w.Want("conditions after the login", w.Conditions(), "")
		w.Want("cooldown", w.State("a").Cooldown, time.Duration(0))
		before := w.Seen()
		w.MustServe("", simtest.PlainModel)
		w.MustServe("", simtest.PlainModel)
		if calls := strings.Join(w.Calls(before), " "); calls != "a b" && calls != "b a" {
			w.Errorf("calls %s", calls)
		}
	}, func(w *apptest.World) {
		w.Stale("a")
		w.Provider.Inject("a", sim.InvalidGrant())
	})
}

// TOK-7, 5-failover: the same after a 401; the other account serves the request.
func TestInvalidGrantAfterUnauthorized(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
		w.MustServe("", simtest.PlainModel)
		w.Provider.ExpireTokens("a")
		w.Provider.Inject("a", sim.InvalidGrant())
		for range 5 {
			r := w.Request("", simtest.PlainModel, true)
			w.Want("status", r.Status, http.StatusBadGateway)
		}
		w.Want("refreshes", len(w.Refreshes()), 1)
		w.Want("conditions", w.Conditions(), lostLogin)
		w.Want("cooldown", w.State("a").Cooldown, 300*time.Second)
		w.Want("cause", w.State("a").Cause.String(), "unauthorized")
		w.Provider.Clear("a")
		w.Put("a", w.Provider.Login("a"))
		simtest.Second()
		w.Want("cooldown after a login", w.State("a").Cooldown, time.Duration(0))
		w.Want("conditions after a login", w.Conditions(), "")
		w.MustServe("", simtest.PlainModel)
	})
}

// TOK-7c: a token that has not expired is used to its end although its refresh was refused; a 2xx shows that nobody has to
// log in yet, but does not have the refresh tried again.
func TestInvalidGrantWhileTheTokenLives(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
		time.Sleep(10 * time.Second)
		w.Want("conditions", w.Conditions(), lostLogin)
		w.MustServe("", simtest.PlainModel)
		w.Want("conditions after a success", w.Conditions(), "")
		time.Sleep(4 * time.Minute)
		w.MustServe("", simtest.PlainModel)
		time.Sleep(time.Minute)
		r := w.Request("", simtest.PlainModel, true)
		if r.Status != http.StatusBadGateway {
			w.Errorf("%d: %s", r.Status, r.Body)
		}
		w.Want("conditions when it has expired", w.Conditions(), lostLogin)
		w.Want("refreshes", len(w.Refreshes()), 1)
	}, func(w *apptest.World) {
		w.Put("a", simtest.Expiring(w.Provider.Credentials("a"), 5*time.Minute))
		w.Provider.Inject("a", sim.InvalidGrant())
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
		"redirect":       sim.Redirect(simtest.ProviderURL + "/elsewhere").On(sim.TokenPath), // TOK-7c: not followed
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *apptest.World) {
				for range 2 {
					w.Want("served by", w.MustServe("", simtest.PlainModel), "b")
				}
				w.Want("cause", w.State("a").Cause.String(), "unresolved")
				w.Want("conditions", w.Conditions(), "account anthropic/a cannot be refreshed")
				w.Want("conditions logged", w.Logged("condition began"), 1)
				for _, r := range w.Provider.Requests() {
					if r.Path == "/elsewhere" {
						w.Errorf("a redirect was followed")
					}
				}
				w.Provider.Clear("a")
				time.Sleep(2 * time.Minute) // the background is at it
				w.Want("conditions afterwards", w.Conditions(), "")
				w.Want("cooldown", w.State("a").Cooldown, time.Duration(0)) // it has a new credential
				w.WantSaved("a")
				w.MustServe("", simtest.PlainModel)
				w.MustServe("", simtest.PlainModel)
				w.Want("times served", w.State("a").Requests, uint64(2))
			}, func(w *apptest.World) {
				w.Stale("a")
				w.Provider.Inject("a", fault)
			})
		})
	}
}

// TOK-7c: requests that come by the dozen do not become calls of a token endpoint that is in trouble.
func TestFailingEndpointIsNotStormed(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
		for range 600 {
			w.Begin(w.Context(), "", simtest.PlainModel)
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(w.Refreshes()); n < 20 || n > 31 {
			w.Errorf("%d calls in a minute", n)
		}
		w.Provider.Clear("a")
		time.Sleep(2 * time.Second)
		w.MustServe("", simtest.PlainModel)
	}, func(w *apptest.World) {
		w.Stale("a")
		w.Provider.Inject("a", sim.ServerError(500).On(sim.TokenPath))
	})
}

// TOK-7: a 403 that refuses the credential needs a login until a 2xx or another credential shows that it does not.
func TestForbiddenNeedsLogin(t *testing.T) {
	for _, end := range []string{"a success", "a login"} {
		t.Run(end, func(t *testing.T) {
			apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
				w.Provider.Inject("a", sim.CredentialForbidden().Times(1))
				w.Want("status", w.Request("", simtest.PlainModel, true).Status, http.StatusBadGateway)
				w.Want("conditions", w.Conditions(), lostLogin)
				w.Want("cooldown", w.State("a").Cooldown, 300*time.Second)
				if end == "a login" {
					w.Put("a", w.Provider.Login("a"))
					simtest.Second()
				} else {
					time.Sleep(time.Minute)
					w.MustServe("", simtest.PlainModel) // the last resort (SEL-11)
				}
				w.Want("conditions afterwards", w.Conditions(), "")
				w.Want("cooldown afterwards", w.State("a").Cooldown, time.Duration(0))
				w.Want("refreshes", len(w.Refreshes()), 0)
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
		for how, replace := range map[string]func(w *apptest.World){
			"in its place": func(w *apptest.World) { w.Put("a", ownedLogin(w, "a")); simtest.Second() },
			"after a gap": func(w *apptest.World) {
				w.Remove("a")
				simtest.Second()
				w.Put("a", ownedLogin(w, "a"))
				simtest.Second()
			},
			"renamed": func(w *apptest.World) { w.Put("a2", ownedLogin(w, "a")); w.Remove("a"); simtest.Second() },
		} {
			t.Run(cause+" "+how, func(t *testing.T) {
				apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *apptest.World) {
					w.Provider.Inject("a", fault)
					w.MustServe("", simtest.PlainModel)
					w.MustServe("", simtest.PlainModel)
					w.Want("cause", w.State("a").Cause.String(), cause)
					replace(w)
					name := "a"
					if how == "renamed" {
						name = "a2"
					}
					ends := cause == "unauthorized" || cause == "forbidden"
					w.Want("the cooldown has ended", w.State(name).Cooldown == 0, ends)
				}, func(w *apptest.World) {
					w.Put("a", simtest.Owned(w.Provider.Credentials("a"), w.Provider.UUID("a"), ""))
				})
			})
		}
	}
}

// ownedLogin returns a new login of an account, with its owner.
func ownedLogin(w *apptest.World, account string) []byte {
	return simtest.Owned(w.Provider.Login(account), w.Provider.UUID(account), "")
}

// TOK-7: a response about a credential that has been replaced does not affect the new one.
func TestLateRefusalOfAnOldCredential(t *testing.T) {
	for name, fault := range map[string]sim.Fault{"403": sim.CredentialForbidden(), "401": sim.Unauthorized()} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *apptest.World) {
				home := w.MustServe("s", simtest.PlainModel)
				w.Provider.Inject(home, fault.After(5*time.Second).Times(1))
				response := w.Begin(w.Context(), "s", simtest.PlainModel)
				time.Sleep(2 * time.Second)
				w.Put(home, w.Provider.Login(home))
				simtest.Second()
				r := <-response
				w.Want("status", r.Status, http.StatusOK)
				w.Want("conditions", w.Conditions(), "")
				w.Want("cooldown", w.State(home).Cooldown, time.Duration(0))
				w.Want("served by", w.MustServe("s", simtest.PlainModel), home)
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
	lock := func(w *apptest.World) {
		w.Remove("a")
		w.Must(os.WriteFile(w.At(long), simtest.Expiring(w.Provider.Credentials("a"), -time.Minute), 0o600))
		w.Must(os.Symlink(long, w.At("link.json")))
	}
	unlock := func(w *apptest.World) {
		w.Must(os.Rename(w.At(long), w.At("short")))
		w.Must(os.Symlink("short", w.At("new.json")))
		w.Must(os.Rename(w.At("new.json"), w.At("link.json")))
	}
	pool := apptest.PoolOf(apptest.Listed("file", `credentials = "~/link.json"`))
	works := func(w *apptest.World) {
		w.Helper()
		for range 3 {
			w.MustServe("", simtest.PlainModel)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			time.Sleep(time.Minute)
		}
		w.Want("conditions", w.Conditions(), unsaved)
		w.Want("log lines", w.Logged("WARN", "condition began", unsaved), 1)
	}
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1), TokenLifetime: time.Hour}, pool, func(w *apptest.World) {
		works(w)
		time.Sleep(time.Hour)
		w.MustServe("", simtest.PlainModel)
		w.Want("refreshes", len(w.Refreshes()), 2)
		w.HUP <- struct{}{} // a reload reads the file, which holds what is spent
		simtest.Second()
		works(w)
		unlock(w)
		time.Sleep(time.Minute)
		w.Want("conditions when it can be written", w.Conditions(), "")
		w.Want("login", w.LoginIn(w.At("link.json")), w.NewestLogin("a"))
		w.MustServe("", simtest.PlainModel)
		w.Want("refreshes", len(w.Refreshes()), 2)
	}, lock)
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, pool, func(w *apptest.World) {
		works(w)
		unlock(w)
		if err := w.Stop(); err != nil {
			w.Errorf("run: %v", err)
		}
		w.Want("login", w.LoginIn(w.At("link.json")), w.NewestLogin("a"))
	}, lock)
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, pool, func(w *apptest.World) {
		works(w)
		err := w.Stop()
		if err == nil || !strings.Contains(err.Error(), "login of anthropic/file is lost") || strings.Contains(err.Error(), "sk-ant-") {
			w.Errorf("run: %v", err)
		}
	}, lock)
}

// TOK-7e: two entries with one refresh token have one refresher and a warning, and neither loses its login.
func TestTwoEntriesWithOneLogin(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1), TokenLifetime: time.Hour}, apptest.PoolOf(""), func(w *apptest.World) {
		w.Want("warnings", w.Logged("WARN", "a.json", "b.json", "same login"), 1)
		for range 4 {
			w.MustServe("", simtest.PlainModel)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			time.Sleep(30 * time.Minute)
		}
		for _, name := range []string{"a", "b"} {
			w.Want("login of "+name, w.LoginIn(w.Entry(name)), w.NewestLogin("a"))
		}
		w.Want("refreshes", len(w.Refreshes()), 3)
		w.Want("conditions", w.Conditions(), "")
	}, func(w *apptest.World) {
		w.Stale("a")
		w.Put("b", simtest.Expiring(w.Provider.Credentials("a"), -time.Minute))
	})
}

// TOK-8: no token reaches the log, a condition, a record or a response, whatever fails, at the most verbose level.
// Every other test looks for the same at its end.
func TestTokensStaySecret(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.PoolOf(""), func(w *apptest.World) {
		for _, fault := range []sim.Fault{
			sim.Unauthorized(), sim.CredentialForbidden(), sim.ServerError(500), sim.ResetConnection(), sim.Throttled("1"), sim.Redirect("/x?token=y"),
		} {
			w.Provider.Inject("", fault)
			w.Provider.Inject("", sim.InvalidGrant().Times(1))
			w.Provider.Inject("", sim.ResetConnection().On(sim.TokenPath).Times(1))
			r := w.Request("s", simtest.PlainModel, true)
			if r.Status == http.StatusOK {
				w.Errorf("%d", r.Status)
			}
			w.Provider.Clear("")
			w.Must(os.Truncate(w.Entry("c"), 60)) // inside its access token
			time.Sleep(time.Minute)
			w.Put("c", w.Provider.Login("c"))
		}
		w.Post(w.Context(), "/v1/sk-ant-path", "", "")
		w.Want("debug is on", w.Logged("level=DEBUG") > 0, true)
	}, func(w *apptest.World) {
		w.Level.Set(slog.LevelDebug)
		w.Stale("a")
		w.Stale("b")
	})
}
