package simtest

import (
	"context"
	"fmt"
	"regexp"
	"testing/synctest"

	"shunt/internal/clock"
	"shunt/internal/family/claude"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// Pool is the provider whose pool the methods of [World] look at.
const Pool = "anthropic"

// State returns the state of an account of [Pool].
func (w *World) State(account string) pool.Status {
	w.Helper()
	for _, s := range w.Tested.Pool(Pool) {
		if s.Name == account {
			return s
		}
	}
	w.Fatalf("no account is named %s", account)
	return pool.Status{}
}

// Moves returns the moves of sessions that the log reports, each as "from>to reason".
func (w *World) Moves() []string {
	synctest.Wait()
	var list []string
	for _, m := range movedLine.FindAllStringSubmatch(w.Log.String(), -1) {
		list = append(list, m[1]+">"+m[2]+" "+m[3])
	}
	return list
}

var movedLine = regexp.MustCompile(`level=INFO msg="session moved" provider=` + Pool + ` session=[0-9a-f]{8} from=(\S+) to=(\S+) reason=(\S+)\n`)

// Homes sends a request in each of forty sessions, and returns their accounts by session. Every account of [Pool] serves some.
func (w *World) Homes() map[string]string {
	w.Helper()
	homes, used := map[string]string{}, map[string]bool{}
	for i := range 40 {
		session := string(rune('A'+i/10)) + string(rune('0'+i%10))
		homes[session] = w.MustServe(session, PlainModel)
		used[homes[session]] = true
	}
	w.Want("accounts with sessions", len(used), len(w.Tested.Pool(Pool)))
	return homes
}

// SessionAt returns a session that is served by the account. To find one, it sends requests of other sessions.
func (w *World) SessionAt(account string) string {
	w.Helper()
	for i := range 200 {
		session := fmt.Sprint("session-", i)
		if w.MustServe(session, PlainModel) == account {
			return session
		}
	}
	w.Fatalf("no session is at home on %s", account)
	return ""
}

// Home returns the account that a session belongs to (SEL-1). It sends no request.
func (w *World) Home(session string) string {
	p := pool.NewRegistry(clock.Clock{}, map[string]*quota.Table{claude.Family.Name: claude.Family.Windows}).Pool("x")
	var all []pool.Account
	for _, s := range w.Tested.Pool(Pool) {
		a := s.Account
		a.Disabled = false
		all = append(all, a)
	}
	p.Configure(all, pool.Policy{})
	c, _ := p.Begin(pool.Criteria{Session: pool.SessionOf(session)}).Next(context.Background())
	return c.Name
}

// OtherSession returns a session of the account that is not this one. It sends no request.
func (w *World) OtherSession(session, account string) string {
	for i := 0; ; i++ {
		if s := fmt.Sprint("other-", i); s != session && w.Home(s) == account {
			return s
		}
	}
}

// Live is a [Tested] that consists of a scheduler and its conditions.
type Live struct {
	Registry *pool.Registry
	Health   *observe.Health
}

// Pool implements [Tested].
func (l Live) Pool(provider string) []pool.Status { return l.Registry.Pool(provider).Snapshot() }

// Conditions implements [Tested].
func (l Live) Conditions() []observe.Condition { return l.Health.List() }
