package usage_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/family"
	"shunt/internal/family/chatgpt"
	"shunt/internal/oauth"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
	"shunt/internal/usage"
)

// GPT-6: an account of another family is polled at its family's endpoint, which its ID is sent to.
func TestAnotherFamily(t *testing.T) {
	simtest.Run(t, sim.Config{}, func(w *simtest.World) {
		f := chatgpt.Family
		f.Credentials = family.CredentialsFile{Access: "access", Refresh: "refresh", Expires: "expires", Account: "account"}
		w.Put("a", []byte(`{"access": "token", "refresh": "r", "expires": 4000000000, "account": "id-a"}`))
		var got []*http.Request
		w.Serve("127.0.0.1:8002", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			got = append(got, r)
			_, _ = io.WriteString(rw, `{"rate_limit": {"primary_window": {"used_percent": 30, "limit_window_seconds": 604800, "reset_after_seconds": 60}}}`)
		}))
		log := slog.New(slog.NewTextHandler(w.Log, nil))
		health := observe.NewHealth(log, clock.Clock{})
		registry := pool.NewRegistry(clock.Clock{}, map[string]*quota.Table{f.Name: f.Windows})
		transport := &http.Transport{DialContext: w.Dial, DisableKeepAlives: true}
		keeper := account.NewKeeper(account.Options{Log: log, Health: health, Families: []account.Family{{
			Name: f.Name, Format: f.Credentials, Refresher: oauth.NewClient(oauth.Vendor{}, transport), Dir: w.Store,
		}}})
		accounts, _ := keeper.Resolve(map[string]account.Listing{"p": {Family: f.Name}})
		a := accounts["p"][0]
		registry.Pool("p").Configure([]pool.Account{{Name: "a", Key: a.Key(), Soft: quota.Soft(quota.DefaultHard)}}, pool.Policy{})
		base, err := url.Parse("http://127.0.0.1:8002/backend-api")
		w.Must(err)
		poller := usage.New(usage.Options{Log: log, Health: health, Interval: interval, Transport: transport})
		poller.Follow([]usage.Entry{{Provider: "p", Family: &f, Base: base, Account: a, Pool: registry.Pool("p")}})
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
		defer cancel()
		poller.Run(ctx)
		w.Must(keeper.Close(w.Context()))

		if len(got) != 1 || got[0].URL.Path != "/backend-api/wham/usage" || got[0].Header.Get("Chatgpt-Account-Id") != "id-a" ||
			got[0].Header.Get("Authorization") != "Bearer token" {
			t.Fatalf("polled with %+v", got)
		}
		state := registry.Pool("p").Snapshot()[0].Quota
		if used, known := state.Utilization(chatgpt.SevenDay); !known || used != 0.3 {
			t.Errorf("used %v, %v", used, known)
		}
	})
}
