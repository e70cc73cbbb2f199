package upstream_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"shunt/internal/pool"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// SES-1: without the header, metadata.user_id names the session of a request, in either of its forms; a header that is not
// blank comes first. The body is sent unchanged, except for the account's UUID.
func TestSessionInTheBody(t *testing.T) {
	userID := map[string]func(string) string{
		"object": func(session string) string {
			return `{\"device_id\":\"d\",\"account_uuid\":\"theirs\",\"session_id\":\"` + session + `\"}`
		},
		"older form": func(session string) string { return "user_0a_account_theirs_session_" + session },
	}
	for name, of := range userID {
		t.Run(name, func(t *testing.T) {
			var accounts []member
			for _, account := range []string{"a", "b", "c", "d"} {
				accounts = append(accounts, known(account, "uuid-"+account))
			}
			inWorld(t, sim.Config{Accounts: simtest.Accounts(4)}, poolOf(accounts...), func(w *world) {
				turn := func(session string, header http.Header) string {
					w.Helper()
					body := `{"model":"` + simtest.PlainModel + `", "metadata":{ "user_id":"` + of(session) + `" },"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
					got := w.Send(sim.MessagesPath, header, body)
					account := got.Header.Get("X-Shunt-Account")
					if got.Status != 200 || account == "" {
						w.Fatalf("%d %s", got.Status, got.Body)
					}
					want := strings.Replace(body, `\"theirs\"`, `\"uuid-`+account+`\"`, 1)
					if r := w.Received(); string(r.Body) != want {
						w.Errorf("got  %s\nwant %s", r.Body, want)
					}
					return account
				}
				homes := map[string]int{}
				for i := range 20 {
					session := fmt.Sprint("session-", i)
					home := turn(session, simtest.Minimal)
					homes[home]++
					w.Want("the record's session", w.Last().Session, pool.SessionOf(session).String())
					w.Want("the next turn's account", turn(session, simtest.Minimal), home)
					w.Want("with a blank header", turn(session, simtest.Session(" ")), home)
					w.Want("with the same in the header", turn("other", simtest.Session(session)), home)
					w.Want("the record's session", w.Last().Session, pool.SessionOf(session).String())
				}
				if len(homes) != 4 {
					w.Errorf("sessions are at home on %v", homes)
				}
			})
		})
	}
}
