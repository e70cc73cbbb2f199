package chatgpt_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/sim/chatgpt"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/enginetest"
	"shunt/internal/sim/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	*enginetest.Client
	p *chatgpt.Provider
}

// bubble runs the test with a provider that has the accounts a and b.
func bubble(t *testing.T, config chatgpt.Config, test func(r *rig)) {
	t.Helper()
	if config.Accounts == nil {
		config.Accounts = []chatgpt.Account{{Name: "a"}, {Name: "b"}}
	}
	r := &rig{}
	enginetest.Run(t, func() http.Handler {
		r.p = chatgpt.New(config)
		return r.p
	}, func(c *enginetest.Client) {
		r.Client = c
		test(r)
	})
}

func (r *rig) as(account, path, body string, header ...string) enginetest.Reply {
	r.Helper()
	header = append([]string{"Authorization", "Bearer " + r.p.Token(account), "Chatgpt-Account-Id", r.p.ID(account)}, header...)
	return r.Do(path, body, header...)
}

const body = `{"model":"gpt-5.5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"medium"},
"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]%s}`

func plain(more string) string { return fmt.Sprintf(body, more) }

func TestResponse(t *testing.T) {
	bubble(t, chatgpt.Config{RateLimitEvent: true}, func(r *rig) {
		reply := r.as("a", chatgpt.ResponsesPath, plain(""))
		reply.Want(r, 200, `"encrypted_content":"gAAAA`, `"headers":{"openai-model":"gpt-5.5"}`)
		names := slices.Compact(reply.Names())
		want := []string{
			"codex.rate_limits", "response.created", "response.in_progress",
			"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
			"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done",
			"response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.done",
			"response.content_part.done", "response.output_item.done", "response.completed",
		}
		if !slices.Equal(names, want) {
			r.Errorf("got %v, want %v", names, want)
		}
		for i, e := range reply.Events(r)[1:] {
			if e["sequence_number"] != float64(i) {
				r.Errorf("event %d has number %v", i, e["sequence_number"])
			}
		}
		if got := reply.Header.Get("Openai-Model"); got != "gpt-5.5" {
			r.Errorf("openai-model is %q", got)
		}
		recorded := r.p.Requests()[0]
		if recorded.Account != "a" || recorded.Model != "gpt-5.5" || recorded.Status != 200 || recorded.Outcome != engine.Complete {
			r.Errorf("recorded %+v", recorded)
		}
		if err := chatgpt.Verify(recorded.Body, text(r.T, reply)); err != nil {
			r.Error(err)
		}
		if again := r.as("b", chatgpt.ResponsesPath, plain("")); text(r.T, again) != text(r.T, reply) {
			r.Error("the same prompt got another text")
		}
	})
}

// text returns the text in the last event of a stream.
func text(t *testing.T, reply enginetest.Reply) (text string) {
	events := reply.Events(t)
	last, _ := json.Marshal(events[len(events)-1]["response"])
	var response struct {
		Output []struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(last, &response); err != nil {
		t.Error(err)
	}
	for _, item := range response.Output {
		for _, part := range item.Content {
			text += part.Text
		}
	}
	return text
}

func TestRefusedRequests(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		for more, want := range map[string]string{
			`,"max_output_tokens":5`:           "Unsupported parameter: max_output_tokens",
			`,"temperature":1`:                 "Unsupported parameter: temperature",
			`,"top_p":1`:                       "Unsupported parameter: top_p",
			`,"previous_response_id":"resp_1"`: "Unsupported parameter: previous_response_id",
			`,"stream_options":{}`:             "Unsupported parameter: stream_options",
			`,"stream":false`:                  "Stream must be set to true",
			`,"store":true`:                    "Store must be set to false",
			`,"model":"claude-x"`:              "model is not supported",
			`,"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`: "No tool output found",
			`,"input":[{"type":"message","role":"user","id":"x"}]`:                          "begins with 'msg'",
		} {
			r.as("a", chatgpt.ResponsesPath, plain(more)).Want(r, 400, `"detail":"`, want)
		}
		r.as("a", chatgpt.ResponsesPath, "{").Want(r, 400, "detail")
		r.as("a", "/backend-api/other", "{}").Want(r, 404, "detail")
		r.as("a", chatgpt.ResponsesPath, "").Want(r, 405, "detail")
		r.as("a", chatgpt.ResponsesPath, "", "Connection", "Upgrade", "Upgrade", "websocket").Want(r, 426, "detail")
	})
}

func TestCompressedBody(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		r.as("a", chatgpt.ResponsesPath, string(engine.Encode("zstd", []byte(plain("")))), "Content-Encoding", "zstd").Want(r, 200, "response.completed")
		if got := r.p.Requests()[0]; string(got.Body) != plain("") || len(got.Raw) == len(got.Body) {
			r.Errorf("recorded %q", got.Body)
		}
		r.as("a", chatgpt.ResponsesPath, plain(""), "Content-Encoding", "zstd").Want(r, 400, "could not be decoded")
	})
}

func TestAuthentication(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		r.Do(chatgpt.UsagePath, "").Want(r, 401, "invalid_token")
		r.as("a", chatgpt.UsagePath, "", "Chatgpt-Account-Id", r.p.ID("b")).Want(r, 401, "account_mismatch")
		r.as("a", chatgpt.UsagePath, "").Want(r, 200, `"plan_type":"plus"`)
		r.p.ExpireTokens("a")
		r.as("a", chatgpt.UsagePath, "").Want(r, 401, "token_expired")
		r.p.Login("a")
		r.as("a", chatgpt.UsagePath, "").Want(r, 200)
		r.p.Revoke("a")
		r.as("a", chatgpt.UsagePath, "").Want(r, 401, "token_invalidated")
		time.Sleep(10 * 24 * time.Hour)
		r.as("b", chatgpt.UsagePath, "").Want(r, 401, "token_expired")
	})
}

// What belongs to an account is refused on another.
func TestOpaqueValues(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		first := r.as("a", chatgpt.ResponsesPath, plain(""))
		state := first.Header.Get("X-Codex-Turn-State")
		r.as("a", chatgpt.ResponsesPath, plain(""), "X-Codex-Turn-State", state).Want(r, 200)
		r.as("b", chatgpt.ResponsesPath, plain(""), "X-Codex-Turn-State", state).Want(r, 400, "invalid_turn_state")
		_, rest, _ := strings.Cut(first.Body, `"encrypted_content":"`)
		seal, _, _ := strings.Cut(rest, `"`)
		back := plain(`,"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + seal + `"},{"type":"message","role":"user","content":"more"}]`)
		r.as("a", chatgpt.ResponsesPath, back).Want(r, 200)
		r.as("b", chatgpt.ResponsesPath, back).Want(r, 400, "invalid_encrypted_content")
	})
}

func TestQuota(t *testing.T) {
	config := chatgpt.Config{Accounts: []chatgpt.Account{{Name: "a", Primary: chatgpt.Window{Size: 1000, Fill: 0.5}, Secondary: chatgpt.Window{Fill: 0.2}}}}
	bubble(t, config, func(r *rig) {
		reply := r.as("a", chatgpt.ResponsesPath, plain(""))
		h := reply.Header
		if h.Get("X-Codex-Primary-Window-Minutes") != "300" || h.Get("X-Codex-Secondary-Window-Minutes") != "10080" || h.Get("X-Codex-Secondary-Used-Percent") != "20" {
			r.Errorf("headers are %v", h)
		}
		before, resets := r.p.Utilization("a", chatgpt.Primary)
		if before <= 0.5 {
			r.Errorf("used %v", before)
		}
		r.p.Fill("a", chatgpt.Primary, 1)
		reply = r.as("a", chatgpt.ResponsesPath, plain(""))
		reply.Want(r, 429, `"type":"usage_limit_reached"`, fmt.Sprintf(`"resets_at":%d`, resets.Unix()), `"resets_in_seconds":18000`)
		if got := reply.Header.Get("X-Codex-Primary-Used-Percent"); got != "100" {
			r.Errorf("used %s percent", got)
		}
		r.as("a", chatgpt.UsagePath, "").Want(r, 200, `"limit_reached":true`, `"used_percent":100`, `"limit_window_seconds":18000`, `"limit_window_seconds":604800`)
		time.Sleep(time.Until(resets))
		r.as("a", chatgpt.ResponsesPath, plain("")).Want(r, 200)
	})
}

// A refresh token that was used before revokes the login.
func TestRotation(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		old := r.p.RefreshToken("a")
		refresh := func(token string) enginetest.Reply {
			return r.Do(chatgpt.TokenPath, fmt.Sprintf(`{"client_id":%q,"grant_type":"refresh_token","refresh_token":%q}`, chatgpt.ClientID, token), "Content-Type", "application/json")
		}
		refresh("unknown").Want(r, 401, "refresh_token_invalidated")
		refresh(old).Want(r, 200, r.p.Token("a"), r.p.RefreshToken("a"))
		if r.p.Refreshes("a") != 1 {
			r.Errorf("%d refreshes", r.p.Refreshes("a"))
		}
		r.as("a", chatgpt.UsagePath, "").Want(r, 200)
		current := r.p.RefreshToken("a")
		refresh(old).Want(r, 401, "refresh_token_reused")
		refresh(current).Want(r, 401, "refresh_token_invalidated")
		r.as("a", chatgpt.UsagePath, "").Want(r, 401, "token_invalidated")
		r.p.Inject("b", chatgpt.InvalidGrant("refresh_token_expired").Times(1))
		refresh(r.p.RefreshToken("b")).Want(r, 401, "refresh_token_expired")
		r.p.Inject("b", chatgpt.SlowRefresh(time.Minute))
		start := time.Now()
		refresh(r.p.RefreshToken("b")).Want(r, 200)
		if time.Since(start) != time.Minute {
			r.Errorf("took %v", time.Since(start))
		}
	})
}

func TestScript(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		f, g := script.Call{Name: "f", Input: `{"x": 1}`}, script.Call{Name: "g", Input: "*** patch", Custom: true}
		r.p.Script(script.Interleaved(f, g), script.Refusal("no"), script.MaxTokens("part"), script.Overflow(), script.FailFirst(script.Overloaded),
			script.FailAfter("part", script.ServerError), script.Cut("part"), script.FailBefore(script.Invalid))
		for _, c := range []struct {
			status int
			texts  []string
			last   string
		}{
			{200, []string{`"type":"function_call"`, `"type":"custom_tool_call"`, `"arguments":"{\"x\": 1}"`, `"input":"*** patch"`}, "response.completed"},
			{200, []string{`"refusal":"no"`, "response.refusal.delta"}, "response.completed"},
			{200, []string{`"incomplete_details":{"reason":"max_output_tokens"}`}, "response.incomplete"},
			{400, []string{"context_length_exceeded"}, ""},
			{200, []string{"server_is_overloaded"}, "response.failed"},
			{200, []string{"part", "server_error"}, "response.failed"},
			{200, []string{"part"}, "response.output_item.done"},
			{400, []string{`"detail"`}, ""},
		} {
			reply := r.as("a", chatgpt.ResponsesPath, plain(""))
			reply.Want(r, c.status, c.texts...)
			if names := reply.Names(); c.last != "" && names[len(names)-1] != c.last {
				r.Errorf("last event is %s, want %s", names[len(names)-1], c.last)
			}
		}
		if r.p.Unplayed() != 0 {
			r.Errorf("%d steps left", r.p.Unplayed())
		}
	})
}

func TestFaults(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		for _, c := range []struct {
			fault  engine.Fault
			status int
			texts  []string
		}{
			{chatgpt.UsageLimitReached(time.Hour), 429, []string{"usage_limit_reached", `"resets_in_seconds":3600`}},
			{chatgpt.UsageNotIncluded(), 429, []string{"usage_not_included"}},
			{chatgpt.RateLimited("7"), 429, []string{"rate_limit_exceeded"}},
			{chatgpt.Overloaded(), 503, []string{"server_is_overloaded"}},
			{chatgpt.ServerError(502), 502, []string{"server_error"}},
			{chatgpt.Unauthorized(), 401, []string{"token_invalidated"}},
			{chatgpt.PaymentRequired(), 402, nil},
			{chatgpt.Deactivated(), 403, []string{"account_deactivated"}},
			{chatgpt.Challenge(), 403, []string{"<title>Just a moment...</title>"}},
			{chatgpt.FailedFirst("usage_limit_reached"), 200, []string{"response.created", "response.failed", "usage_limit_reached"}},
			{chatgpt.ErrorFirst("slow_down"), 200, []string{"event: error", "slow_down"}},
			{chatgpt.FailedAfter(6, "server_error"), 200, []string{"response.reasoning_summary_text.delta", "response.failed"}},
			{chatgpt.Handshake(17), 200, []string{strings.Repeat("event: codex.note\ndata: {\"type\":\"codex.note\"}\n\n", 17) + "event: response.created", "response.completed"}},
			{engine.Truncate(2), 200, []string{"response.in_progress"}},
			{engine.SlowHeaders(time.Minute), 200, []string{"response.completed"}},
			{engine.SlowFirstEvent(time.Minute), 200, []string{"response.completed"}},
		} {
			r.p.Inject("a", c.fault.Times(1))
			r.as("a", chatgpt.ResponsesPath, plain("")).Want(r, c.status, c.texts...)
		}
		r.as("a", chatgpt.ResponsesPath, plain("")).Want(r, 200)
		for _, f := range []engine.Fault{engine.ResetConnection(), engine.Abort(4)} {
			r.p.Inject("a", f.Times(1))
			if reply := r.as("a", chatgpt.ResponsesPath, plain("")); reply.Err == nil {
				r.Errorf("got %+v", reply)
			}
		}
	})
}
