package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
)

// TOK-7d: on a full disk the rotated login is used from memory, also for the next rotation. A condition reports it, and
// shunt writes it as soon as possible.
func TestDiskFull(t *testing.T) {
	inEach(t, func(w *world) {
		w.lifetime = time.Hour
		w.login("a", 0)
		a := w.account()
		before := w.read("a.json")
		w.disk.fail(faults{put: errors.New("no space left on device")})
		end := w.run()
		w.wants("token", w.token(a), "tok-oat-a#2")
		w.conditions("account claude/a cannot be saved")
		w.wants("detail", w.health.List()[0].Detail, "its new login is only in memory and is lost when shunt exits, "+
			"because /store/a.json cannot be written: no space left on device")
		time.Sleep(time.Hour)
		w.wants("second rotation", w.token(a), "tok-oat-a#3")
		w.wants("accounts", len(w.accounts()), 1)
		w.wants("resolved again", w.token(a), "tok-oat-a#3")
		w.wants("calls", w.count(), 2)
		w.wants("file", w.read("a.json"), before)
		w.disk.fail(faults{})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.conditions()
		if got := w.read("a.json"); !strings.Contains(got, "tok-ort-a#3") {
			w.Errorf("file after the disk recovered: %s", got)
		}
		end()
		w.close()
	})
}

// TOK-7d: shutdown tries a last time to write.
func TestDiskFullUntilClose(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		inEach(t, func(w *world) {
			w.login("a", 0)
			a := w.account()
			w.disk.fail(faults{put: errors.New("read-only file system")})
			w.token(a)
			if recovers {
				w.disk.fail(faults{})
			}
			err := w.keeper.Close(w.Context())
			if recovers {
				w.wants("error", err, nil)
				w.wants("file", w.read("a.json"), w.file("tok-oat-a#2", "tok-ort-a#2", time.Now().Add(8*time.Hour)))
			} else if err == nil || err.Error() != "the login of claude/a is lost, because /store/a.json cannot be written: read-only file system" {
				w.Errorf("Close = %v", err)
			}
		})
	}
}

// TOK-7d: a new login while the disk is full takes precedence.
func TestLoginWhileUnwritten(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		w.disk.fail(faults{put: errors.New("no space left on device")})
		end := w.run()
		w.token(a)
		want := w.file("tok-oat-new", "tok-ort-new", time.Now().Add(time.Hour))
		w.write("a.json", want)
		time.Sleep(time.Second)
		synctest.Wait()
		w.wants("token", w.token(a), "tok-oat-new")
		w.disk.fail(faults{})
		time.Sleep(time.Minute)
		w.wants("file", w.read("a.json"), want)
		w.conditions()
		end()
		w.close()
	})
}

// TOK-7d: while the disk cannot be read, the login in memory is kept, because it may be the only copy. Without reading, and
// without a lease, nothing is refreshed (TOK-4).
func TestDiskFails(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", time.Minute)
		a := w.account()
		unreadable := errors.New("input/output error")
		w.disk.fail(faults{get: unreadable})
		s := sets{"p": {{Name: "a"}}}
		w.resolve("unreadable", s, []string{"a store::a "})
		w.wants("token", w.token(a), "tok-oat-a#1")
		w.conditions("account p/a cannot be refreshed")
		time.Sleep(time.Minute)
		w.tokenFails(a, unreadable)
		unlockable := errors.New("no locks available")
		w.disk.fail(faults{lease: unlockable})
		w.tokenFails(a, unlockable)
		w.wants("calls", w.count(), 0)
		w.disk.fail(faults{list: errors.New("permission denied")})
		w.resolve("no directory", sets{"p": nil}, []string{"a store::a "}, "the account store cannot be read: permission denied")
		w.resolve("again", sets{"p": nil}, []string{"a store::a "})
		w.disk.fail(faults{})
		time.Sleep(2 * time.Second)
		w.wants("token", w.token(w.account()), "tok-oat-a#2")
		w.conditions()
		w.close()
	})
}

// TOK-4: another process holds the lease and hangs; this one gives up after 30 s without a refresh, and Close ends the wait.
func TestLeaseIsHeld(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		lease, err := w.disk.open(storeDir).Lease(w.Context(), "a.json")
		w.wants("error", err, nil)
		start := time.Now()
		w.tokenFails(a, context.DeadlineExceeded)
		w.wants("waited", time.Since(start), 30*time.Second)
		failed := make(chan error)
		go func() {
			_, err := a.Token(w.Context())
			failed <- err
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		w.close()
		w.fails(account.Token{}, <-failed, account.ErrClosed)
		w.wants("calls", w.count(), 0)
		lease.Release()
	})
}

// TOK-7d: a write that cannot acquire the lease is reported and retried as well.
func TestDiskFullWithoutLease(t *testing.T) {
	inEach(t, func(w *world) {
		w.login("a", 0)
		w.write("b.json", w.read("a.json"))
		accounts, _ := w.keeper.Resolve(listings(sets{"p": nil}))
		w.token(accounts["p"][0])
		w.disk.fail(faults{lease: errors.New("no locks available")})
		if err := w.keeper.Close(w.Context()); err == nil || err.Error() !=
			"the login of p/b is lost, because /store/b.json cannot be written: no locks available" {
			w.Errorf("Close = %v", err)
		}
		w.conditions("account p/b cannot be saved")
	})
}

// TOK-7d: neither a program that rewrites the file continually nor a response with an invalid token loses the login.
func TestWriteConflictsAndInvalidTokens(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		w.disk.before = func() { w.write("a.json", w.read("a.json")+" ") }
		w.wants("token", w.token(a), "tok-oat-a#2")
		w.conditions("account claude/a cannot be saved")
		w.disk.before = nil
		w.close()
		w.conditions()
		if got := w.read("a.json"); !strings.Contains(got, "tok-ort-a#2") {
			w.Errorf("file: %s", got)
		}
	})
	in(t, func(w *world) {
		w.login("a", 0)
		a := w.account()
		before := w.read("a.json")
		w.transform = func(reply string) string { return strings.Replace(reply, "tok-oat-a#2", `to\nk`, 1) }
		if token, err := a.Token(w.Context()); err == nil {
			w.Errorf("token %q", token.Reveal())
		}
		w.wants("file", w.read("a.json"), before)
		w.close()
	})
}

// ACC-4: a program that writes in place leaves the file empty for a moment, which does not drop the entry.
func TestResolveDuringWrite(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", time.Hour)
		w.account()
		whole := w.read("a.json")
		w.write("a.json", "")
		go func() { time.Sleep(20 * time.Millisecond); w.write("a.json", whole) }()
		w.wants("token", w.token(w.account()), "tok-oat-a#1")
		w.close()
	})
}
