package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// TestNothingIsGivenAway plants recognisable secrets wherever a client or an account has some, has everything go wrong
// that can, and looks for them in the log at its most talkative, in the request log, in the conditions and in all that
// shunt says itself (OBS-1, ERR-3, AUTH-2b).
func TestNothingIsGivenAway(t *testing.T) {
	const (
		prompt  = "planted-prompt"
		query   = "planted-query"
		session = "planted-session"
		header  = "planted-header"
	)
	requests := filepath.Join(t.TempDir(), "requests.jsonl")
	talkative := func(w *world) { w.Level.Set(slog.LevelDebug) }
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf("[log]\nlevel = \"debug\"\nrequests = \""+requests+"\"\n[server.limits]\nmax_url_length = 300\n"), func(w *world) {
		planted := []string{prompt, query, session, header, "sk-ant-", "planted-device", "sim text"} // the last is in responses
		client := simtest.With(simtest.Minimal, "Authorization", "Bearer "+header, "X-Api-Key", header, "Cookie", header, "X-Claude-Code-Session-Id", session,
			"X-Shunt-Token", header, "X-Forwarded-For", header, "X-Custom", header)
		body := func(stream bool) string {
			return fmt.Sprintf(`{"model":"%s","stream":%v,"max_tokens":9,"messages":[{"role":"user","content":"%s"}],"system":"%s","metadata":{"user_id":"{\"device_id\":\"planted-device\",\"account_uuid\":\"planted-device\"}"}}`,
				simtest.PlainModel, stream, prompt, prompt)
		}
		target := sim.MessagesPath + "?key=" + query
		var own []string // all that shunt said itself
		post := func(target string, h http.Header, body string) {
			got := w.Send(target, h, body)
			text := fmt.Sprint(got.Header)
			if got.Header["X-Gateway-Upstream"] == nil {
				text += got.Body
			}
			own = append(own, text)
		}
		everything := func() {
			for _, f := range simtest.Faults(
				sim.SlowHeaders(0), sim.Rejected(messages.FiveHour), sim.Throttled("2"), sim.Throttled("90"), sim.Unauthorized(), sim.Overloaded(), sim.ServerError(500),
				sim.CredentialForbidden(), sim.ModelForbidden(), sim.ResetConnection(), sim.Hang(), sim.Redirect("/elsewhere"), sim.ErrorStream(messages.TypeOverloaded),
				sim.Abort(3), sim.Truncate(3), sim.Failure(400, messages.TypeInvalidRequest, prompt+" is too long"), simtest.Stall(500),
			) {
				w.Provider.Inject("", f)
				for _, stream := range []bool{true, false} {
					post(target, client, body(stream))
				}
				ctx, leave := context.WithTimeout(w.Context(), time.Second)
				w.SendUntil(ctx, target, client, body(true))
				leave()
				w.Provider.Clear("")
			}
		}
		everything()
		for _, bad := range []string{
			"", prompt, "[" + body(true) + "]", body(true)[:100], body(true) + prompt, `{"` + prompt + `":1}`, `{"model":{"` + prompt + `":1}}`,
			strings.Replace(body(true), "{", `{"model":"`+prompt+`",`, 1), "\xff" + prompt,
		} {
			post(target, client, bad)
		}
		for _, wrong := range []string{"/v1/" + query, "/v1/messages/" + query, "/v1/messages?" + strings.Repeat(query, 100)} {
			post(wrong, client, body(true))
		}
		post(target, simtest.With(client, "Content-Encoding", header), body(true))
		post(target, simtest.With(client, "Origin", "https://"+header+".example"), body(true))
		post(target, simtest.With(client, "X-Flood", strings.Repeat(header, 10_000)), body(true))

		// The logins break too: refused, unreachable, unreadable.
		for _, f := range simtest.Faults(sim.InvalidGrant(), sim.ServerError(500).On(sim.TokenPath), sim.ResetConnection().On(sim.TokenPath)) {
			for _, name := range w.Provider.Accounts() {
				planted = append(planted, w.Provider.Token(name))
				w.Put(name, w.Provider.Login(name))
				w.Provider.ExpireTokens(name)
			}
			time.Sleep(2 * time.Second)
			w.Provider.Inject("", f)
			everything()
			w.Provider.Inject("", f)
			post(target, client, body(true))
			w.Provider.Clear("")
		}
		w.Put("a", []byte(`{"claudeAiOauth":{"accessToken":"sk-ant-half`))
		w.Put("b", []byte(`{"claudeAiOauth":{"accessToken":"sk-ant-blank ","expiresAt":"sk-ant-number"}}`))
		time.Sleep(2 * time.Second)
		post(target, client, body(true))
		w.Upstream.Close()
		w.Provider.Inject("", sim.ResetConnection())
		everything()
		if err := w.Stop(); err != nil {
			w.Error(err)
		}

		lines, err := os.ReadFile(requests)
		if n := strings.Count(string(lines), "\n"); err != nil || n != len(w.Records()) || n < 200 || !strings.Contains(w.Log.String(), "level=DEBUG") {
			w.Errorf("too little to look at: %v, %d lines of %d", err, n, len(w.Records()))
		}
		records, err := json.Marshal(w.Records())
		if err != nil {
			w.Error(err)
		}
		for place, text := range map[string]string{
			"log": w.Log.String(), "request log": string(lines), "records": string(records), "conditions": fmt.Sprint(w.App.Conditions()),
			"responses of shunt's own": strings.Join(own, "\n"),
		} {
			for _, secret := range planted {
				if at := strings.Index(text, secret); at >= 0 {
					w.Errorf("%q is in the %s: %q", secret, place, text[max(0, at-300):min(len(text), at+50)])
				}
			}
		}
	}, talkative)
}
