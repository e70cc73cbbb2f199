package chatgpt_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"shunt/internal/sim/chatgpt"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/enginetest"
)

const (
	verifier = "a-verifier-of-at-least-forty-three-characters"
	callback = "http://127.0.0.1:1455/auth/callback"
)

func authorizeQuery() url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{
		"client_id": {chatgpt.ClientID}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {chatgpt.Scope}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"id_token_add_organizations": {"true"}, "codex_cli_simplified_flow": {"true"},
	}
}

func (r *rig) exchange(code, redirect, verifier string) enginetest.Reply {
	form := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {chatgpt.ClientID}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier},
	}
	return r.Do(chatgpt.TokenPath, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

func TestBrowserLogin(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		query := authorizeQuery()
		r.Do(chatgpt.AuthorizePath+"?"+query.Encode(), "").Want(r, 200, `id="allow-a"`, `id="deny"`)
		denied := r.Do(chatgpt.AuthorizePath+"?"+query.Encode()+"&deny=true", "")
		if got := denied.Header.Get("Location"); got != callback+"?error=access_denied&state=s" {
			r.Errorf("redirected to %s", got)
		}
		code := func() string {
			location, err := url.Parse(r.Do(chatgpt.AuthorizePath+"?"+query.Encode()+"&account=b", "").Header.Get("Location"))
			if err != nil || location.Query().Get("state") != "s" || !strings.HasPrefix(location.String(), callback) {
				r.Errorf("redirected to %s (%v)", location, err)
			}
			return location.Query().Get("code")
		}
		first := code()
		r.exchange(first, callback, verifier).Want(r, 200, r.p.Token("b"), "id_token")
		r.exchange(first, callback, verifier).Want(r, 400, "invalid_grant")
		r.exchange(code(), callback, "another").Want(r, 400, "invalid_grant")
		r.exchange(code(), callback+"x", verifier).Want(r, 400, "invalid_grant")
		late := code()
		time.Sleep(time.Hour)
		r.exchange(late, callback, verifier).Want(r, 400, "invalid_grant")
		for name := range query {
			changed := authorizeQuery()
			changed.Del(name)
			r.Do(chatgpt.AuthorizePath+"?"+changed.Encode(), "").Want(r, 400, "Invalid request")
		}
	})
}

func TestDeviceLogin(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		start := r.Do(chatgpt.DeviceCodePath, fmt.Sprintf(`{"client_id":%q}`, chatgpt.ClientID))
		start.Want(r, 200, `"interval":"5"`)
		var login struct {
			ID   string `json:"device_auth_id"`
			Code string `json:"user_code"`
		}
		if err := json.Unmarshal([]byte(start.Body), &login); err != nil || login.Code != r.p.UserCodes()[0] {
			r.Fatalf("%s (%v)", start.Body, err)
		}
		poll := func() enginetest.Reply { return r.Do(chatgpt.DevicePollPath, start.Body) }
		poll().Want(r, 403)
		r.Do(chatgpt.DevicePollPath, "{}").Want(r, 404)
		r.Do(chatgpt.DevicePage+"?user_code=unknown&account=a", "").Want(r, 400)
		r.Do(chatgpt.DevicePage, "").Want(r, 200, "Allow as b")
		r.Do(chatgpt.DevicePage+"?user_code="+login.Code+"&account=b", "").Want(r, 200)
		var grant struct {
			Code     string `json:"authorization_code"`
			Verifier string `json:"code_verifier"`
		}
		done := poll()
		if err := json.Unmarshal([]byte(done.Body), &grant); err != nil || done.Status != 200 {
			r.Fatalf("%+v (%v)", done, err)
		}
		poll().Want(r, 404)
		r.exchange(grant.Code, "https://auth.openai.com/deviceauth/callback", grant.Verifier).Want(r, 200, r.p.Token("b"))
		r.as("b", chatgpt.UsagePath, "").Want(r, 200)
	})
}

func TestCredentials(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		var file struct {
			Tokens struct {
				Access  string `json:"access_token"`
				Account string `json:"account_id"`
			} `json:"tokens"`
		}
		if err := json.Unmarshal(r.p.Credentials("a"), &file); err != nil {
			r.Fatal(err)
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(file.Tokens.Access, ".")[1])
		if err != nil {
			r.Fatal(err)
		}
		var claims struct {
			Exp  int64 `json:"exp"`
			Auth struct {
				Account string `json:"chatgpt_account_id"`
				User    string `json:"chatgpt_user_id"`
				Plan    string `json:"chatgpt_plan_type"`
			} `json:"https://api.openai.com/auth"`
		}
		if err := json.Unmarshal(payload, &claims); err != nil {
			r.Fatal(err)
		}
		if claims.Exp != time.Now().Add(10*24*time.Hour).Unix() || claims.Auth.Account != r.p.ID("a") || claims.Auth.User != r.p.User("a") || file.Tokens.Account != r.p.ID("a") {
			r.Errorf("claims are %+v", claims)
		}
	})
}

func TestLists(t *testing.T) {
	accounts := []chatgpt.Account{{Name: "a"}, {Name: "b", Origin: "https://eu.chatgpt.com", Routing: "us"}}
	bubble(t, chatgpt.Config{Accounts: accounts}, func(r *rig) {
		r.as("a", chatgpt.ModelsPath+"?client_version=0.171.0", "").Want(r, 200, `"slug":"gpt-5.5"`)
		r.as("a", chatgpt.ModelsPath, "").Want(r, 400)
		r.as("a", chatgpt.AccountsCheckPath, "").Want(r, 200, r.p.ID("a"), `"workspace_backend_origin":"NO_CONSTRAINT"`)
		r.as("b", chatgpt.AccountsCheckPath, "").Want(r, 200, `"workspace_backend_origin":"https://eu.chatgpt.com"`, `"account_routing_override":"us"`)
	})
}

// A client that leaves ends a request that hangs or stalls.
func TestClientLeaves(t *testing.T) {
	bubble(t, chatgpt.Config{}, func(r *rig) {
		for _, f := range []engine.Fault{engine.Hang(), engine.Stall(3)} {
			r.p.Inject("a", f.Times(1))
			ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
			reply := r.DoContext(ctx, chatgpt.ResponsesPath, plain(""), "Authorization", "Bearer "+r.p.Token("a"), "Chatgpt-Account-Id", r.p.ID("a"))
			cancel()
			if reply.Err == nil {
				r.Errorf("got %+v", reply)
			}
		}
	})
}
