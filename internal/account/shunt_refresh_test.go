package account_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// TOK-1, TOK-4, TOK-5, TOK-8: an expired token is refreshed before use, once for all who wait; no request goes out with a
// token that is not on disk, or while the lock is held.
func TestExpiredTokenIsRefreshedOnceBeforeUse(t *testing.T) {
	var old simtest.Login
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
		w.Watch(func(r *http.Request) {
			token, inference := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			switch onDisk := w.LoginIn(w.Entry("a")); {
			case inference && token == old.AccessToken:
				w.Errorf("the expired token was sent")
			case inference && token != onDisk.AccessToken:
				w.Errorf("a token was sent before it was on disk")
			case inference:
				w.Lock("a")()
			case !inference && onDisk != old:
				w.Errorf("the file changed before the refresh")
			}
		})
		var responses []<-chan simtest.Reply
		for range 50 {
			responses = append(responses, w.Begin(w.Context(), "", simtest.PlainModel))
			time.Sleep(100 * time.Millisecond)
		}
		for _, response := range responses {
			if r := <-response; r.Status != 200 || r.Err != nil {
				w.Errorf("%d, %v: %s", r.Status, r.Err, r.Body)
			}
		}
		w.Want("refreshes", len(w.Refreshes()), 1)
		w.WantSaved("a")
		w.Want("conditions", w.Conditions(), "")
	}, func(w *apptest.World) {
		w.Stale("a")
		old = w.NewestLogin("a")
		w.Provider.Inject("a", sim.SlowRefresh(10*time.Second))
	})
}

// TOK-4: fifty requests that are refused with one token lead to one refresh; those that come later with the old token
// in hand use its result.
func TestRevokedTokenIsRefreshedOnce(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
		w.MustServe("", simtest.PlainModel)
		w.Provider.ExpireTokens("a")
		w.Provider.Inject("a", sim.SlowHeaders(3*time.Second).Times(10)) // their 401 comes after the refresh
		before := w.Seen()
		var responses []<-chan simtest.Reply
		for range 50 {
			responses = append(responses, w.Begin(w.Context(), "", simtest.PlainModel))
		}
		for _, response := range responses {
			if r := <-response; r.Status != 200 || r.Err != nil {
				w.Errorf("%d, %v: %s", r.Status, r.Err, r.Body)
			}
		}
		w.Want("refreshes", len(w.Refreshes()), 1)
		if calls := len(w.Calls(before)); calls > 100 {
			w.Errorf("%d calls", calls)
		}
		w.Want("cooldown", w.State("a").Cooldown, time.Duration(0))
		w.WantSaved("a")
	})
}

// TOK-5: a client that leaves during the refresh does not lose the login; the next one uses it.
func TestClientLeavesDuringRefresh(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
		ctx, leave := context.WithCancel(w.Context())
		response := w.Begin(ctx, "s", simtest.PlainModel)
		time.Sleep(time.Second)
		leave()
		if r := <-response; r.Err == nil {
			w.Errorf("a response: %d", r.Status)
		}
		w.Want("cooldown", w.State("a").Cooldown, time.Duration(0)) // FO-5
		time.Sleep(19*time.Second + time.Millisecond)
		w.WantSaved("a")
		r := w.Request("s", simtest.PlainModel, true)
		w.Want("status", r.Status, http.StatusOK)
		w.Want("took", r.Took, time.Duration(0))
		w.Want("refreshes", len(w.Refreshes()), 1)
	}, func(w *apptest.World) {
		w.Stale("a")
		w.Provider.Inject("a", sim.SlowRefresh(20*time.Second))
	})
}

// TOK-5: nor does the end of shunt, whether a client waits for the refresh, has left, is aborted, or there is none.
func TestShutdownDuringRefresh(t *testing.T) {
	for name, c := range map[string]struct {
		toml    string
		client  bool
		leaves  bool
		status  int // 0: no response
		patient time.Duration
	}{
		"a client waits":       {"", true, false, http.StatusOK, 25 * time.Second},
		"the client has left":  {"", true, true, 0, 25 * time.Second},
		"the client is cut":    {"[server]\nshutdown_timeout_seconds = 1\n", true, false, 0, 25 * time.Second},
		"no client":            {"", false, false, 0, 25 * time.Second},
		"the endpoint is slow": {"[server]\nshutdown_timeout_seconds = 1\n", true, false, 0, 29 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, c.toml+apptest.PoolOf(""), func(w *apptest.World) {
				began := time.Now()
				ctx, leave := context.WithCancel(w.Context())
				defer leave()
				var response <-chan simtest.Reply
				if c.client {
					response = w.Begin(ctx, "s", simtest.PlainModel)
				}
				time.Sleep(4 * time.Second) // the background has begun a refresh by now
				if c.leaves {
					leave()
				}
				w.Want("refreshes", len(w.Refreshes()), 1)
				if err := w.Stop(); err != nil {
					w.Errorf("run: %v", err)
				}
				if took := time.Since(began); took < c.patient {
					w.Errorf("ended after %v", took)
				}
				w.WantSaved("a")
				if c.client {
					w.Want("status", (<-response).Status, c.status)
				}
			}, func(w *apptest.World) {
				w.Stale("a")
				w.Provider.Inject("a", sim.SlowRefresh(c.patient))
			})
		})
	}
}

// TOK-2, TOK-7c: tokens are renewed when they have less than ten minutes left and not before, so that no request waits.
func TestRefreshesBeforeExpiry(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1), TokenLifetime: time.Hour}, apptest.PoolOf(""), func(w *apptest.World) {
		time.Sleep(50 * time.Minute)
		w.Want("refreshes with ten minutes left", len(w.Refreshes()), 0)
		time.Sleep(4 * time.Second)
		w.Want("refreshes with less", len(w.Refreshes()), 1)
		w.WantSaved("a")
		w.Provider.Inject("a", sim.SlowRefresh(time.Second))
		for range 24 {
			time.Sleep(10*time.Minute + time.Second)
			if r := w.Request("", simtest.PlainModel, true); r.Status != 200 || r.Took != 0 {
				w.Errorf("%d after %v", r.Status, r.Took)
			}
		}
		w.Want("refreshes in five hours", len(w.Refreshes()), 5)
	})
}

// TOK-7c: ten accounts that expired while shunt was down are not refreshed at once, not even on demand; and one that is
// slow delays no other.
func TestRefreshesAreSpreadOut(t *testing.T) {
	stale := func(w *apptest.World) {
		for _, name := range w.Provider.Accounts() {
			w.Stale(name)
		}
	}
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(10)}, apptest.PoolOf(""), func(w *apptest.World) {
		time.Sleep(time.Minute)
		moments := w.Refreshes()
		w.Want("refreshes", len(moments), 10)
		for i := range moments[1:] {
			if distance := moments[i+1].Sub(moments[i]); distance < 2*time.Second {
				w.Errorf("two refreshes within %v", distance)
			}
		}
	}, stale)
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(10)}, apptest.PoolOf(""), func(w *apptest.World) {
		var responses []<-chan simtest.Reply
		for range 10 {
			responses = append(responses, w.Begin(w.Context(), "", simtest.PlainModel))
		}
		for _, response := range responses {
			r := <-response
			w.Want("status", r.Status, http.StatusOK)
			if r.Account != "a" && r.Took > 3*time.Second {
				w.Errorf("%s waited %v", r.Account, r.Took)
			}
		}
		moments := w.Refreshes()
		for i := range moments[1:] {
			if distance := moments[i+1].Sub(moments[i]); distance < 100*time.Millisecond {
				w.Errorf("two refreshes within %v", distance)
			}
		}
	}, stale, func(w *apptest.World) { w.Provider.Inject("a", sim.SlowRefresh(29*time.Second)) })
}

// TOK-6, ACC-1: a credentials file is rewritten through its link, readable for its owner only, and all that is not
// shunt's stays as it was.
func TestRefreshThroughALink(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(apptest.Listed("file", `credentials = "~/link.json"`)), func(w *apptest.World) {
		before, err := os.ReadFile(w.At("real/creds.json"))
		w.Must(err)
		w.Want("served by", w.MustServe("", simtest.PlainModel), "file")
		link, err := os.Lstat(w.At("link.json"))
		w.Must(err)
		w.Want("a link", link.Mode()&os.ModeSymlink != 0, true)
		real, err := os.Lstat(w.At("real/creds.json"))
		w.Must(err)
		w.Want("mode", real.Mode(), os.FileMode(0o600))
		w.Want("login", w.LoginIn(w.At("link.json")), w.NewestLogin("a"))
		after, err := os.ReadFile(w.At("real/creds.json"))
		w.Must(err)
		mask := func(data []byte) string {
			return string(simtest.Edited(data, func(file map[string]any) {
				oauth := file["claudeAiOauth"].(map[string]any)
				oauth["accessToken"], oauth["refreshToken"], oauth["expiresAt"] = "", "", ""
			}))
		}
		w.Want("other members", mask(after), mask(before))
		left, err := filepath.Glob(w.At("real/.creds*"))
		if err != nil || len(left) > 0 {
			w.Errorf("left behind: %q, %v", left, err)
		}
	}, func(w *apptest.World) {
		w.Remove("a")
		w.Must(os.WriteFile(w.At("real/creds.json"), simtest.Expiring(w.Provider.Credentials("a"), -time.Minute), 0o644))
		w.Must(os.Symlink("real/creds.json", w.At("link.json")))
	})
}

// TOK-4, TOK-7b: what another process put into the file is used, without a refresh.
func TestAnotherProcessRotates(t *testing.T) {
	t.Run("before the 401", func(t *testing.T) {
		apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
			w.MustServe("", simtest.PlainModel)
			w.Provider.ExpireTokens("a")
			w.Put("a", w.Provider.Login("a"))
			w.MustServe("", simtest.PlainModel)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			w.Want("refreshes", len(w.Refreshes()), 0)
		})
	})
	t.Run("while shunt waits for the lock", func(t *testing.T) {
		var unlock func()
		apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
			response := w.Begin(w.Context(), "", simtest.PlainModel)
			time.Sleep(10 * time.Second)
			w.Put("a", w.Provider.Login("a"))
			unlock()
			r := <-response
			w.Want("status", r.Status, http.StatusOK)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			w.Want("refreshes", len(w.Refreshes()), 0)
			w.Want("conditions", w.Conditions(), "")
		}, func(w *apptest.World) {
			w.Stale("a")
			unlock = w.Lock("a")
		})
	})
	t.Run("before the endpoint refuses", func(t *testing.T) {
		apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
			response := w.Begin(w.Context(), "", simtest.PlainModel)
			time.Sleep(4900 * time.Millisecond)
			w.Put("a", w.Provider.Login("a"))
			r := <-response
			w.Want("status", r.Status, http.StatusOK)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			w.Want("refreshes", len(w.Refreshes()), 1)
			w.Want("conditions", w.Conditions(), "")
		}, func(w *apptest.World) {
			w.Stale("a")
			w.Provider.Inject("a", sim.InvalidGrant().After(5*time.Second))
		})
	})
	t.Run("before the endpoint refuses what follows a 401", func(t *testing.T) {
		apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
			w.MustServe("", simtest.PlainModel)
			w.Provider.ExpireTokens("a")
			w.Provider.Inject("a", sim.InvalidGrant().After(5*time.Second))
			response := w.Begin(w.Context(), "", simtest.PlainModel)
			time.Sleep(4900 * time.Millisecond)
			w.Put("a", w.Provider.Login("a"))
			r := <-response
			w.Want("status", r.Status, http.StatusOK)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			w.Want("conditions", w.Conditions(), "")
			w.Want("cooldown", w.State("a").Cooldown, time.Duration(0))
		})
	})
	t.Run("during the refresh", func(t *testing.T) {
		apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *apptest.World) {
			response := w.Begin(w.Context(), "", simtest.PlainModel)
			time.Sleep(time.Second)
			w.Put("a", w.Provider.Login("a")) // a person logs in again: newer than what is on its way
			r := <-response
			w.Want("status", r.Status, http.StatusOK)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			w.WantSaved("a")
		}, func(w *apptest.World) {
			w.Stale("a")
			w.Provider.Inject("a", sim.SlowRefresh(5*time.Second))
		})
	})
}

// TOK-5, TOK-7b: a client that writes back what it remembers, or a backup that is restored, puts a spent refresh token into
// the file. The login that shunt got for it is not lost to that, and is written again.
func TestRestoredFileWithASpentLogin(t *testing.T) {
	var old []byte
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1), TokenLifetime: time.Hour}, apptest.PoolOf(""), func(w *apptest.World) {
		time.Sleep(10 * time.Second)
		w.Want("refreshes", len(w.Refreshes()), 1)
		for range 3 {
			w.Put("a", old)
			simtest.Second()
			w.MustServe("", simtest.PlainModel)
			w.Want("token", w.Bearer(), w.Provider.Token("a"))
			time.Sleep(10 * time.Second)
			w.WantSaved("a")
		}
		time.Sleep(time.Hour)
		w.MustServe("", simtest.PlainModel)
		for _, r := range w.Provider.Requests() {
			if r.Path == sim.TokenPath && r.Status != http.StatusOK {
				w.Errorf("the token endpoint responded with %d", r.Status)
			}
		}
		w.Want("conditions", w.Conditions(), "")
	}, func(w *apptest.World) {
		w.Stale("a")
		var err error
		old, err = os.ReadFile(w.Entry("a"))
		w.Must(err)
	})
}
