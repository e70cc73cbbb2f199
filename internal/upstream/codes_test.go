package upstream_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/dialect/responses"
	"shunt/internal/family/chatgpt"
	"shunt/internal/pool"
)

// GPT-7, FAM-7: what each response leads to: who serves the request, and how long the account cools down.
func TestCodes(t *testing.T) {
	failure := func(code string) string { return `{"error":{"code":"` + code + `","message":"Text."}}` }
	failed := func(code string) string { return `{"type":"response.failed","response":` + failure(code) + `}` }
	const created = `{"type":"response.created","response":{}}`
	for _, c := range []struct {
		name     string
		reply    http.HandlerFunc
		moves    bool // another account serves
		status   int  // of the response, if the account's is relayed
		cooldown time.Duration
		cause    pool.Event
	}{
		{"quota", respond(429, `{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":7200}}`), true, 0, 2 * time.Hour, pool.Rejected},
		{"FO-12: never longer than the window", respond(429, `{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":7200}}`,
			"x-codex-primary-used-percent: 100", "x-codex-primary-window-minutes: 300", "x-codex-primary-reset-after-seconds: 600"), true, 0, 10 * time.Minute, pool.Rejected},
		{"no Codex", respond(429, failure("usage_not_included")), true, 0, time.Hour, pool.NotIncluded},
		{"402", respond(402, `{"detail":{"code":"deactivated_workspace"}}`), true, 0, 300 * time.Second, pool.PaymentRequired},
		{"403 of the account", respond(403, failure("account_deactivated")), true, 0, 300 * time.Second, pool.Forbidden},
		{"401 without a refresh", respond(401, failure("token_invalidated")), true, 0, 300 * time.Second, pool.Unauthorized},
		{"overloaded", respond(503, failure("server_is_overloaded")), true, 0, 5 * time.Second, pool.Overloaded},
		{"503", respond(503, failure("else")), true, 0, 30 * time.Second, pool.ServerError},
		{"404", respond(404, `{"detail":"Not Found"}`), false, 404, 0, pool.None},
		{"stream: quota", streamed(created, failed("usage_limit_reached")), true, 0, time.Minute, pool.Rejected},
		{"stream: no Codex", streamed(created, failed("usage_not_included")), true, 0, time.Hour, pool.NotIncluded},
		{"stream: throttle", streamed(created, failed("rate_limit_exceeded")), true, 0, 0, pool.None},
		{"stream: overloaded", streamed(created, `{"type":"error","code":"server_is_overloaded"}`), true, 0, 5 * time.Second, pool.Overloaded},
		{"stream: server error", streamed(created, failed("server_error")), true, 0, 30 * time.Second, pool.ServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			inStage(t, func(s *stage) {
				home := s.home("s")
				s.script(home, c.reply)
				before, began := s.count(), time.Now()
				w, failed, record := s.request("s")
				seen := s.accountsSeen(before)
				if c.moves && (w.Code != 200 || record.Account == home || len(seen) != 2) || !c.moves && w.Code != c.status {
					t.Errorf("status %d by %q of %v, %+v: %s", w.Code, record.Account, seen, failed, w.Body)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("took %v", took)
				}
				if state := s.state(home); state.Cooldown != c.cooldown || state.Cause.Event != c.cause {
					t.Errorf("cools down for %v because of %v, want %v, %v", state.Cooldown, state.Cause, c.cooldown, c.cause)
				}
			})
		})
	}
}

// GPT-7: a plan without Codex is a condition until a request succeeds.
func TestPlanWithoutTheService(t *testing.T) {
	inStage(t, func(s *stage) {
		home := s.home("s")
		s.script(home, respond(429, `{"error":{"type":"usage_not_included","message":"m"}}`))
		s.request("s")
		if got := s.health.List(); len(got) != 1 || !strings.HasSuffix(got[0].Name, home+" cannot serve") || got[0].Detail != "this plan has no Codex" {
			t.Errorf("conditions %+v", got)
		}
		time.Sleep(2 * time.Hour)
		sessionAt(s, home)
		if got := s.Conditions(); got != "" {
			t.Errorf("conditions %s", got)
		}
	})
}

// sessionAt returns a new session that the account serves.
func sessionAt(s *stage, account string) string {
	for i := range 1000 {
		if name := fmt.Sprint("new ", i); s.home(name) == account {
			return name
		}
	}
	s.Fatalf("%s serves no session", account)
	return ""
}

// GPT-12: what a client of the Responses API gets if no account can serve.
func TestExhaustionForResponses(t *testing.T) {
	limit := func(d string) http.HandlerFunc {
		return respond(429, `{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":`+d+`}}`)
	}
	inStage(t, func(s *stage) {
		s.script("a", limit("7200"))
		s.script("b", limit("3600"))
		s.script("c", limit("10800"))
		w, f, _ := s.request("s")
		if f == nil || f.Status != 429 || w.Body.Len() > 0 || !f.Resets.Equal(time.Now().Add(time.Hour)) || !strings.Contains(f.Message, "back in 1 h") {
			t.Errorf("%d, %+v", w.Code, f)
		}
	})
	inStage(t, func(s *stage) {
		s.script("", respond(500, `{"error":{"message":"m"}}`, "retry-after: 3000"))
		if w, f, _ := s.request("s"); f != nil || w.Code != 500 || w.Header().Get("Retry-After") != "60" {
			t.Errorf("%d, %v, %+v", w.Code, w.Header(), f)
		}
	})
	inStage(t, func(s *stage) {
		s.script("", respond(403, `{"error":{"code":"account_banned","message":"m"}}`))
		if w, f, _ := s.request("s"); f == nil || (responses.Dialect{}).Status(&dialect.Error{Kind: f.Kind, Status: f.Status}) != 400 || w.Body.Len() > 0 {
			t.Errorf("%d, %+v", w.Code, f)
		}
	})
}

// GPT-10, GPT-4b: the account's headers replace the client's.
func TestAccountHeaders(t *testing.T) {
	inStage(t, func(s *stage) {
		home := s.home("s")
		s.request("s", "x-openai-account-routing-override: us", "originator: codex_exec", "x-codex-turn-metadata: {}")
		h := s.last().header
		want := map[string]string{
			"Chatgpt-Account-Id": "id-" + home, "X-Openai-Account-Routing-Override": "", "Authorization": "Bearer token-" + home,
			"Originator": "codex_exec", "X-Codex-Turn-Metadata": "{}",
		}
		for name, value := range want {
			if got := strings.Join(h[name], " "); got != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
	})
}

// GPT-11: the state of a turn goes to the account that it came from, or to none.
func TestTurnState(t *testing.T) {
	const header = "X-Codex-Turn-State"
	inStage(t, func(s *stage) {
		w, _, record := s.request("s")
		state := w.Header().Get(header)
		if state != "turn of id-"+record.Account {
			t.Fatalf("state %q", state)
		}
		if _, _, again := s.request("s", header+": "+state); s.last().header.Get(header) != state || again.Dropped.State != 0 {
			t.Errorf("its own account got %v, dropped %+v", s.last().header[header], again.Dropped)
		}
		s.script(record.Account, respond(500, ``))
		_, _, moved := s.request("s", header+": "+state)
		if got := s.last(); got.account == record.Account || got.header[header] != nil || moved.Dropped.State != 1 {
			t.Errorf("another account got %v, dropped %+v", got.header[header], moved.Dropped)
		}
		if s.request("s", header+": unknown"); s.last().header.Get(header) != "unknown" {
			t.Errorf("an unknown state became %v", s.last().header[header])
		}
	})
}

// GPT-11: the model in the header of a response is the one that the client requested.
func TestModelHeader(t *testing.T) {
	inStage(t, func(s *stage) {
		for used, want := range map[string]string{"": "gpt-5.5", "gpt-6-codex": "gpt-5.5"} {
			s.script("", respond(200, `{"model":"m"}`, "openai-model: "+used), respond(200, `{"model":"m"}`, "openai-model: "+used))
			w, _, _ := s.request("s", "x-test-model: "+used)
			if got := w.Header().Get("Openai-Model"); got != want && used != "" || used == "" && got != "" {
				t.Errorf("%q became %q", used, got)
			}
		}
	})
}

// GPT-10b: reasoning that an account rejects is cut, once.
func TestForeignReasoning(t *testing.T) {
	reject := respond(400, `{"error":{"code":"invalid_encrypted_content","message":"m"}}`)
	inStage(t, func(s *stage) {
		home := s.home("s")
		s.script(home, reject)
		before := s.count()
		w, _, record := s.request("s")
		if got := s.accountsSeen(before); w.Code != 200 || !slices.Equal(got, []string{home, home}) {
			t.Errorf("%d by %v", w.Code, got)
		}
		if strings.Contains(s.last().body, "sealed") || !strings.Contains(s.last().body, `"hi"`) || record.Dropped.Reasoning != 1 {
			t.Errorf("sent %s, dropped %+v", s.last().body, record.Dropped)
		}
		s.script(home, reject, reject)
		if w, _, record := s.request("s"); w.Code != 400 || record.Account != home {
			t.Errorf("a second rejection: %d by %q", w.Code, record.Account)
		}
		if state := s.state(home); state.Cooldown != 0 {
			t.Errorf("cools down for %v", state.Cooldown)
		}
	})
}

// GPT-6: the quota that an event in a stream reports is recorded.
func TestQuotaEvent(t *testing.T) {
	inStage(t, func(s *stage) {
		s.script("", streamed(
			`{"type":"codex.rate_limits","rate_limits":{"primary":{"used_percent":40,"window_minutes":300,"reset_after_seconds":60}}}`,
			`{"type":"response.created","response":{}}`, `{"type":"response.output_text.delta","delta":"x"}`, `{"type":"response.completed","response":{}}`,
		))
		_, _, record := s.request("s")
		state := s.state(record.Account)
		if used, known := state.Quota.Utilization(chatgpt.FiveHour); !known || used != 0.4 {
			t.Errorf("%v, %v", used, known)
		}
	})
}
