package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/admin"
	"shunt/internal/family/kimi"
	"shunt/internal/oauth"
	simkimi "shunt/internal/sim/kimi"
)

// GPT-9, KIMI-1: in the browser, a person gets a code to type on the provider's page, and sees how the login stands.
func TestDeviceLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := simkimi.New(simkimi.Config{Accounts: []simkimi.Account{{Name: "a"}}})
		client := oauth.NewClient(kimi.Family.Vendor, roundTrip(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			provider.ServeHTTP(w, r)
			return w.Result(), r.Context().Err()
		}))
		s := newSurface(t)
		options := s.admin.Options
		options.Families = append(options.Families, admin.Family{
			Name: "kimi", Title: "Kimi", Store: account.OpenStore(filepath.Join(t.TempDir(), "kimi"), kimi.Family.Credentials), OAuth: client, Devices: true,
		})
		s.admin = admin.New(options)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.admin.Run(ctx); close(ended) }()
		const path = "/admin/api/accounts/kimi"
		ask := func(method, at, body string, status int) string {
			t.Helper()
			w := s.call(method, path+at, writeKey, body)
			if w.Code != status {
				t.Errorf("%s %s: %d %s", method, at, w.Code, w.Body)
			}
			return w.Body.String()
		}
		begin := func(name string) (code string) {
			t.Helper()
			var begun struct {
				Code string `json:"user_code"`
				Page string `json:"page"`
			}
			_ = json.NewDecoder(strings.NewReader(ask("POST", "", `{"name":"`+name+`","mode":"device"}`, 200))).Decode(&begun)
			if begun.Code == "" || !strings.Contains(begun.Page, begun.Code) {
				t.Errorf("%+v", begun)
			}
			return begun.Code
		}

		ask("GET", "/new/device", "", 404)
		if got := ask("POST", "", `{"name":"new","mode":"oauth"}`, 400); !strings.Contains(got, `mode must be \"device\"`) {
			t.Error(got)
		}
		ask("POST", "", `{"name":"No","mode":"device"}`, 400)
		code := begin("new")
		if got := ask("GET", "/new/device", "", 200); !strings.Contains(got, `"status":"waiting"`) {
			t.Error(got)
		}
		if w := s.call("GET", path+"/new/device", readKey, ""); w.Code != 403 {
			t.Errorf("with a read key: %d", w.Code)
		}
		provider.Approve(code, "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := ask("GET", "/new/device", "", 200); !strings.Contains(got, `"status":"stored"`) || !strings.Contains(s.log.String(), "account added") {
			t.Error(got)
		}

		provider.Deny(begin("denied"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := ask("GET", "/denied/device", "", 200); !strings.Contains(got, "denied on the provider's page") {
			t.Error(got)
		}
		begin("late")
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := ask("GET", "/late/device", "", 200); !strings.Contains(got, "not allowed in time") {
			t.Error(got)
		}
		begin("left")
		begin("left") // replaces the first
		ask("DELETE", "/left/device", "", 200)
		ask("DELETE", "/left/device", "", 404)
		begin("open")
		stop()
		<-ended
		if list := s.call("GET", "/admin/api/accounts", readKey, ""); strings.Count(list.Body.String(), `"family":"kimi"`) != 1 {
			_, _ = io.WriteString(t.Output(), list.Body.String())
			t.Error("one account has been added")
		}
		if strings.Contains(s.log.String(), provider.Token("a")) {
			t.Error("the token is in the log")
		}
	})
}
