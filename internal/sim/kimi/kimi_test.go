package kimi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/enginetest"
	"shunt/internal/sim/kimi"
	"shunt/internal/sim/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	*enginetest.Client
	p *kimi.Provider
}

func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	r := &rig{}
	enginetest.Run(t, func() http.Handler {
		r.p = kimi.New(kimi.Config{Accounts: []kimi.Account{{Name: "a"}, {Name: "b"}}})
		return r.p
	}, func(c *enginetest.Client) {
		r.Client = c
		test(r)
	})
}

func device(id string) []string {
	return []string{"X-Msh-Platform", "shunt", "X-Msh-Version", "1", "X-Msh-Device-Id", id}
}

func (r *rig) as(account, path, body string, header ...string) enginetest.Reply {
	r.Helper()
	header = append(append(device(r.p.Device(account)), "Authorization", "Bearer "+r.p.Token(account)), header...)
	return r.Do(path, body, header...)
}

func (r *rig) form(path, id string, form url.Values) enginetest.Reply {
	form.Set("client_id", kimi.ClientID)
	return r.Do(path, form.Encode(), append(device(id), "Content-Type", "application/x-www-form-urlencoded")...)
}

const body = `{"model":"kimi-k2","max_tokens":1000,"messages":[{"role":"user","content":"hello"}]}`

func TestMessages(t *testing.T) {
	bubble(t, func(r *rig) {
		r.as("a", kimi.MessagesPath, body).Want(r, 200, `"stop_reason":"end_turn"`, "[sim text")
		r.p.Script(script.Calls(script.Call{Name: "f", Input: `{"x":1}`}))
		stream := `{"stream":true,` + body[1:]
		r.as("a", kimi.MessagesPath, stream).Want(r, 200, `"stop_reason":"tool_use"`, "message_stop")
		r.as("a", kimi.CountTokensPath, body).Want(r, 200, "input_tokens")
		r.as("a", kimi.ModelsPath, "").Want(r, 200, "kimi-for-coding")
		r.as("a", kimi.MessagesPath, `{"model":"other","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`).Want(r, 404, "not_found_error")
		r.as("a", kimi.MessagesPath, "{").Want(r, 400, "invalid_request_error")
		r.as("a", kimi.MessagesPath, body, "X-Msh-Platform", "").Want(r, 401, "Missing header X-Msh-Platform")
		r.as("a", kimi.MessagesPath, body, "X-Msh-Device-Id", "other").Want(r, 401, "another device")
		r.Do("/coding/v1/other", "").Want(r, 404)
	})
}

func TestLimit(t *testing.T) {
	bubble(t, func(r *rig) {
		r.p.Fill("a", 1)
		reply := r.as("a", kimi.MessagesPath, body)
		reply.Want(r, 429, "rate_limit_error")
		if got := reply.Header.Get("Retry-After"); got != strconv.Itoa(5*3600) {
			r.Errorf("retry-after is %s", got)
		}
		r.as("b", kimi.MessagesPath, body).Want(r, 200)
		for _, f := range []engine.Fault{kimi.PaymentRequired(), kimi.RateLimited("3")} {
			r.p.Inject("b", f.Times(1))
		}
		r.as("b", kimi.MessagesPath, body).Want(r, 402)
		r.as("b", kimi.MessagesPath, body).Want(r, 429)
	})
}

func TestRefresh(t *testing.T) {
	bubble(t, func(r *rig) {
		time.Sleep(15 * time.Minute)
		r.as("a", kimi.MessagesPath, body).Want(r, 401, "expired")
		var file struct {
			OAuth struct {
				Refresh string `json:"refreshToken"`
				Expires int64  `json:"expiresAt"`
			} `json:"kimiOauth"`
			Device string `json:"deviceId"`
		}
		if err := json.Unmarshal(r.p.Credentials("a"), &file); err != nil || file.OAuth.Expires != time.Now().UnixMilli() {
			r.Errorf("%+v (%v)", file, err)
		}
		refresh := func() enginetest.Reply {
			return r.form(kimi.TokenPath, file.Device, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {file.OAuth.Refresh}})
		}
		refresh().Want(r, 200, r.p.Token("a"), `"expires_in":900`)
		r.as("a", kimi.MessagesPath, body).Want(r, 200)
		refresh().Want(r, 400, "invalid_grant")
		if r.p.Refreshes("a") != 1 {
			r.Errorf("%d refreshes", r.p.Refreshes("a"))
		}
	})
}

func TestDeviceLogin(t *testing.T) {
	bubble(t, func(r *rig) {
		start := func() (poll func() enginetest.Reply) {
			reply := r.form(kimi.DeviceAuthorizationPath, "new", url.Values{})
			reply.Want(r, 200, `"interval":5`, "http://provider.test/device?user_code="+r.p.UserCodes()[0])
			form := url.Values{
				"grant_type":  {"urn:ietf:params:oauth:grant-type:device_code"},
				"device_code": {reply.JSON(r)["device_code"].(string)},
			}
			return func() enginetest.Reply { return r.form(kimi.TokenPath, "new", form) }
		}
		poll := start()
		poll().Want(r, 400, "authorization_pending")
		poll().Want(r, 400, "slow_down")
		r.p.Approve(r.p.UserCodes()[0], "b")
		time.Sleep(5 * time.Second)
		poll().Want(r, 200, r.p.Token("b"))
		poll().Want(r, 400, "invalid_grant")
		if r.p.Device("b") != "new" {
			r.Errorf("device is %s", r.p.Device("b"))
		}
		r.as("b", kimi.MessagesPath, body).Want(r, 200)

		denied := start()
		r.Do(kimi.DevicePage+"?user_code="+r.p.UserCodes()[0], "").Want(r, 200, "Allow as a")
		r.Do(kimi.DevicePage+"?user_code="+r.p.UserCodes()[0]+"&deny=true", "").Want(r, 200)
		denied().Want(r, 400, "access_denied")
		time.Sleep(time.Hour)
		denied().Want(r, 400, "expired_token")
		r.Do(kimi.TokenPath, "x=1").Want(r, 400, "invalid_request")
	})
}
