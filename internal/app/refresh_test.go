package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
	"shunt/internal/store"
)

// stale makes the access token in a store entry one that has expired, for its holder and for the provider.
func (w *world) stale(account string) {
	w.Helper()
	w.provider.ExpireTokens(account)
	w.put(account, expiring(w.provider.Credentials(account), -time.Minute))
}

// expiring is a credentials file whose access token has that long to live.
func expiring(credentials []byte, left time.Duration) []byte {
	return edited(credentials, func(file map[string]any) {
		file["claudeAiOauth"].(map[string]any)["expiresAt"] = time.Now().Add(left).UnixMilli()
	})
}

// login is what a credentials file holds.
type login struct{ AccessToken, RefreshToken string }

func (w *world) loginIn(path string) login {
	w.Helper()
	data, err := os.ReadFile(path)
	w.must(err)
	var file struct{ ClaudeAiOauth login }
	if err := json.Unmarshal(data, &file); err != nil {
		w.Fatalf("%s: %v", path, err)
	}
	return file.ClaudeAiOauth
}

// newest is the login that the provider gave out last.
func (w *world) newest(account string) login {
	var file struct{ ClaudeAiOauth login }
	w.must(json.Unmarshal(w.provider.Credentials(account), &file))
	return file.ClaudeAiOauth
}

// saved wants an account's newest login in its store entry.
func (w *world) saved(account string) {
	w.Helper()
	synctest.Wait()
	if w.loginIn(w.entry(account)) != w.newest(account) {
		w.Errorf("the newest login of %s is not on disk", account)
	}
}

// refreshes are the moments in which the token endpoint was called.
func (w *world) refreshes() (moments []time.Time) {
	synctest.Wait()
	for _, r := range w.provider.Requests() {
		if r.Path == sim.TokenPath {
			moments = append(moments, r.Received)
		}
	}
	return moments
}

// lock takes the lock of a store entry, as another process would.
func (w *world) lock(account string) (unlock func()) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	lease, err := store.NewDir(w.store).Lease(ctx, account+".json")
	if err != nil {
		w.Errorf("the lock is held: %v", err)
		return func() {}
	}
	return lease.Release
}

// TOK-1, TOK-4, TOK-5, TOK-8: an expired token is refreshed before use, once for all who wait; no request goes out with a
// token that is not on disk, or while the lock is held.
func TestExpiredTokenIsRefreshedOnceBeforeUse(t *testing.T) {
	var old login
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.watch(func(r *http.Request) {
			token, inference := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			switch onDisk := w.loginIn(w.entry("a")); {
			case inference && token == old.AccessToken:
				w.Errorf("the expired token was sent")
			case inference && token != onDisk.AccessToken:
				w.Errorf("a token was sent before it was on disk")
			case inference:
				w.lock("a")()
			case !inference && onDisk != old:
				w.Errorf("the file changed before the refresh")
			}
		})
		var answers []<-chan reply
		for range 50 {
			answers = append(answers, w.start(w.Context(), ""))
			time.Sleep(100 * time.Millisecond)
		}
		for _, answer := range answers {
			if r := <-answer; r.status != 200 || r.err != nil {
				w.Errorf("%d, %v: %s", r.status, r.err, r.body)
			}
		}
		w.wants("refreshes", len(w.refreshes()), 1)
		w.saved("a")
		w.wants("conditions", w.conditions(), "")
	}, func(w *world) {
		w.stale("a")
		old = w.newest("a")
		w.provider.Inject("a", sim.SlowRefresh(10*time.Second))
	})
}

// TOK-4: fifty requests that are refused with one token lead to one refresh; those that come later with the old token
// in hand use its result.
func TestRevokedTokenIsRefreshedOnce(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.mustServe("", plainModel)
		w.provider.ExpireTokens("a")
		w.provider.Inject("a", sim.SlowHeaders(3*time.Second).Times(10)) // their 401 comes after the refresh
		before := w.seen()
		var answers []<-chan reply
		for range 50 {
			answers = append(answers, w.start(w.Context(), ""))
		}
		for _, answer := range answers {
			if r := <-answer; r.status != 200 || r.err != nil {
				w.Errorf("%d, %v: %s", r.status, r.err, r.body)
			}
		}
		w.wants("refreshes", len(w.refreshes()), 1)
		if calls := len(w.calls(before)); calls > 100 {
			w.Errorf("%d calls", calls)
		}
		w.wants("rests", w.state("a").Cooldown, time.Duration(0))
		w.saved("a")
	})
}

// TOK-5: a client that leaves during the refresh costs nobody the login; the next one finds it done.
func TestClientLeavesDuringRefresh(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		ctx, leave := context.WithCancel(w.Context())
		answer := w.start(ctx, "s")
		time.Sleep(time.Second)
		leave()
		if r := <-answer; r.err == nil {
			w.Errorf("an answer: %d", r.status)
		}
		w.wants("rests", w.state("a").Cooldown, time.Duration(0)) // FO-5
		time.Sleep(19*time.Second + time.Millisecond)
		w.saved("a")
		r := w.ask("s", plainModel, true)
		w.wants("status", r.status, http.StatusOK)
		w.wants("took", r.took, time.Duration(0))
		w.wants("refreshes", len(w.refreshes()), 1)
	}, func(w *world) {
		w.stale("a")
		w.provider.Inject("a", sim.SlowRefresh(20*time.Second))
	})
}

// TOK-5: nor does the end of shunt, whether somebody waits for the refresh, has left, is cut off, or nobody asked.
func TestShutdownDuringRefresh(t *testing.T) {
	for name, c := range map[string]struct {
		toml    string
		ask     bool
		leaves  bool
		status  int // 0: no answer
		patient time.Duration
	}{
		"a client waits":       {"", true, false, http.StatusOK, 25 * time.Second},
		"the client has left":  {"", true, true, 0, 25 * time.Second},
		"the client is cut":    {"[server]\nshutdown_timeout_seconds = 1\n", true, false, 0, 25 * time.Second},
		"nobody asked":         {"", false, false, 0, 25 * time.Second},
		"the endpoint is slow": {"[server]\nshutdown_timeout_seconds = 1\n", true, false, 0, 29 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(1)}, c.toml+poolOf(""), func(w *world) {
				began := time.Now()
				ctx, leave := context.WithCancel(w.Context())
				defer leave()
				var answer <-chan reply
				if c.ask {
					answer = w.start(ctx, "s")
				}
				time.Sleep(4 * time.Second) // the background has begun a refresh by now
				if c.leaves {
					leave()
				}
				w.wants("refreshes", len(w.refreshes()), 1)
				if err := w.end(); err != nil {
					w.Errorf("run: %v", err)
				}
				if took := time.Since(began); took < c.patient {
					w.Errorf("ended after %v", took)
				}
				w.saved("a")
				if c.ask {
					w.wants("status", (<-answer).status, c.status)
				}
			}, func(w *world) {
				w.stale("a")
				w.provider.Inject("a", sim.SlowRefresh(c.patient))
			})
		})
	}
}

// TOK-2, TOK-7c: tokens are renewed when they have less than ten minutes left and not before, so that no request waits.
func TestBackgroundRefresh(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1), TokenLifetime: time.Hour}, poolOf(""), func(w *world) {
		time.Sleep(50 * time.Minute)
		w.wants("refreshes with ten minutes left", len(w.refreshes()), 0)
		time.Sleep(4 * time.Second)
		w.wants("refreshes with less", len(w.refreshes()), 1)
		w.saved("a")
		w.provider.Inject("a", sim.SlowRefresh(time.Second))
		for range 24 {
			time.Sleep(10*time.Minute + time.Second)
			if r := w.ask("", plainModel, true); r.status != 200 || r.took != 0 {
				w.Errorf("%d after %v", r.status, r.took)
			}
		}
		w.wants("refreshes in five hours", len(w.refreshes()), 5)
	})
}

// TOK-7c: ten accounts that expired while shunt was down are not refreshed at once, not even on demand; and one that is
// slow delays no other.
func TestRefreshesAreSpreadOut(t *testing.T) {
	stale := func(w *world) {
		for _, name := range w.provider.Accounts() {
			w.stale(name)
		}
	}
	inWorld(t, sim.Config{Accounts: accountsOf(10)}, poolOf(""), func(w *world) {
		time.Sleep(time.Minute)
		moments := w.refreshes()
		w.wants("refreshes", len(moments), 10)
		for i := range moments[1:] {
			if distance := moments[i+1].Sub(moments[i]); distance < 2*time.Second {
				w.Errorf("two refreshes within %v", distance)
			}
		}
	}, stale)
	inWorld(t, sim.Config{Accounts: accountsOf(10)}, poolOf(""), func(w *world) {
		var answers []<-chan reply
		for range 10 {
			answers = append(answers, w.start(w.Context(), ""))
		}
		for _, answer := range answers {
			r := <-answer
			w.wants("status", r.status, http.StatusOK)
			if r.account != "a" && r.took > 3*time.Second {
				w.Errorf("%s waited %v", r.account, r.took)
			}
		}
		moments := w.refreshes()
		for i := range moments[1:] {
			if distance := moments[i+1].Sub(moments[i]); distance < 100*time.Millisecond {
				w.Errorf("two refreshes within %v", distance)
			}
		}
	}, stale, func(w *world) { w.provider.Inject("a", sim.SlowRefresh(29*time.Second)) })
}

// TOK-6, ACC-1: a credentials file is rewritten through its link, readable for its owner only, and all that is not
// shunt's stays as it was.
func TestRefreshThroughALink(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(listed("file", `credentials = "~/link.json"`)), func(w *world) {
		before, err := os.ReadFile(w.at("real/creds.json"))
		w.must(err)
		w.wants("served by", w.mustServe("", plainModel), "file")
		link, err := os.Lstat(w.at("link.json"))
		w.must(err)
		w.wants("a link", link.Mode()&os.ModeSymlink != 0, true)
		real, err := os.Lstat(w.at("real/creds.json"))
		w.must(err)
		w.wants("mode", real.Mode(), os.FileMode(0o600))
		w.wants("login", w.loginIn(w.at("link.json")), w.newest("a"))
		after, err := os.ReadFile(w.at("real/creds.json"))
		w.must(err)
		mask := func(data []byte) string {
			return string(edited(data, func(file map[string]any) {
				oauth := file["claudeAiOauth"].(map[string]any)
				oauth["accessToken"], oauth["refreshToken"], oauth["expiresAt"] = "", "", ""
			}))
		}
		w.wants("the rest", mask(after), mask(before))
		left, err := filepath.Glob(w.at("real/.creds*"))
		if err != nil || len(left) > 0 {
			w.Errorf("left behind: %q, %v", left, err)
		}
	}, func(w *world) {
		w.remove("a")
		w.must(os.WriteFile(w.at("real/creds.json"), expiring(w.provider.Credentials("a"), -time.Minute), 0o644))
		w.must(os.Symlink("real/creds.json", w.at("link.json")))
	})
}

// TOK-4, TOK-7b: what another process put into the file is used, and nobody is asked for it.
func TestAnotherProcessRotates(t *testing.T) {
	t.Run("before the 401", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
			w.mustServe("", plainModel)
			w.provider.ExpireTokens("a")
			w.put("a", w.provider.Login("a"))
			w.mustServe("", plainModel)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			w.wants("refreshes", len(w.refreshes()), 0)
		})
	})
	t.Run("while shunt waits for the lock", func(t *testing.T) {
		var unlock func()
		inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
			answer := w.start(w.Context(), "")
			time.Sleep(10 * time.Second)
			w.put("a", w.provider.Login("a"))
			unlock()
			r := <-answer
			w.wants("status", r.status, http.StatusOK)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			w.wants("refreshes", len(w.refreshes()), 0)
			w.wants("conditions", w.conditions(), "")
		}, func(w *world) {
			w.stale("a")
			unlock = w.lock("a")
		})
	})
	t.Run("before the endpoint refuses", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
			answer := w.start(w.Context(), "")
			time.Sleep(4900 * time.Millisecond)
			w.put("a", w.provider.Login("a"))
			r := <-answer
			w.wants("status", r.status, http.StatusOK)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			w.wants("refreshes", len(w.refreshes()), 1)
			w.wants("conditions", w.conditions(), "")
		}, func(w *world) {
			w.stale("a")
			w.provider.Inject("a", sim.InvalidGrant().After(5*time.Second))
		})
	})
	t.Run("before the endpoint refuses what follows a 401", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
			w.mustServe("", plainModel)
			w.provider.ExpireTokens("a")
			w.provider.Inject("a", sim.InvalidGrant().After(5*time.Second))
			answer := w.start(w.Context(), "")
			time.Sleep(4900 * time.Millisecond)
			w.put("a", w.provider.Login("a"))
			r := <-answer
			w.wants("status", r.status, http.StatusOK)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			w.wants("conditions", w.conditions(), "")
			w.wants("rests", w.state("a").Cooldown, time.Duration(0))
		})
	})
	t.Run("during the refresh", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
			answer := w.start(w.Context(), "")
			time.Sleep(time.Second)
			w.put("a", w.provider.Login("a")) // a person logs in again: newer than what is on its way
			r := <-answer
			w.wants("status", r.status, http.StatusOK)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			w.saved("a")
		}, func(w *world) {
			w.stale("a")
			w.provider.Inject("a", sim.SlowRefresh(5*time.Second))
		})
	})
}

// TOK-5, TOK-7b: a client that writes back what it remembers, or a backup that is restored, puts a spent refresh token into
// the file. The login that shunt got for it is not lost to that, and is written again.
func TestSpentLoginIsPutBack(t *testing.T) {
	var old []byte
	inWorld(t, sim.Config{Accounts: accountsOf(1), TokenLifetime: time.Hour}, poolOf(""), func(w *world) {
		time.Sleep(10 * time.Second)
		w.wants("refreshes", len(w.refreshes()), 1)
		for range 3 {
			w.put("a", old)
			second()
			w.mustServe("", plainModel)
			w.wants("token", w.bearer(), w.provider.Token("a"))
			time.Sleep(10 * time.Second)
			w.saved("a")
		}
		time.Sleep(time.Hour)
		w.mustServe("", plainModel)
		for _, r := range w.provider.Requests() {
			if r.Path == sim.TokenPath && r.Status != http.StatusOK {
				w.Errorf("the token endpoint answered %d", r.Status)
			}
		}
		w.wants("conditions", w.conditions(), "")
	}, func(w *world) {
		w.stale("a")
		var err error
		old, err = os.ReadFile(w.entry("a"))
		w.must(err)
	})
}
