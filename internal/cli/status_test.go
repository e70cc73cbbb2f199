package cli

import (
	"strings"
	"testing"
	"time"

	"shunt/internal/admin"
	"shunt/internal/config"
	"shunt/internal/family/claude"
)

// CLI-2, FAM-6: the table has a column for each window that an account has.
func TestStatusColumns(t *testing.T) {
	now, reset := time.Unix(1_800_000_000, 0), int64(1_800_000_000+3*3600)
	used, limit, soft := 0.25, 0.5, 0.9
	flat := admin.AccountState{
		Name: "a", HasState: true, Threshold5h: &soft, Threshold7d: &soft, ThresholdFable: &soft, Utilization5h: &used, Cap5h: &limit, Reset5h: &reset, Requests: 7,
	}
	listed := admin.AccountState{Name: "b", HasState: true, Windows: []admin.WindowState{{Window: "1h", Utilization: &used}, {Window: "7d"}}}
	none := admin.AccountState{Name: "c", HasState: true}
	pool := func(name string, accounts ...admin.AccountState) admin.ProviderState {
		return admin.ProviderState{Provider: name, Auth: config.Auth(name + "_oauth"), Accounts: accounts}
	}
	for _, c := range []struct {
		pools []admin.ProviderState
		want  []string
	}{
		{
			[]admin.ProviderState{pool("claude", flat), {Provider: "paid", Auth: "api_key"}},
			[]string{
				"PROVIDER  ACCOUNT  STATE    5H             7D  FABLE  HEADROOM  REQUESTS",
				"claude    a        ok       25% of 50% 3h  -   -      -         7",
				"paid      -        api key                                      ",
			},
		},
		{
			[]admin.ProviderState{pool("claude", flat), pool("acme", listed)},
			[]string{
				"PROVIDER  ACCOUNT  STATE  5H             7D  FABLE  1H   HEADROOM  REQUESTS",
				"claude    a        ok     25% of 50% 3h  -   -           -         7",
				"acme      b        ok                    -          25%  -         0",
			},
		},
		{
			[]admin.ProviderState{pool("acme", listed)},
			[]string{
				"PROVIDER  ACCOUNT  STATE  1H   7D  HEADROOM  REQUESTS",
				"acme      b        ok     25%  -   -         0",
			},
		},
		{
			[]admin.ProviderState{pool("plain", none)},
			[]string{
				"PROVIDER  ACCOUNT  STATE  HEADROOM  REQUESTS",
				"plain     c        ok     -         0",
			},
		},
		{
			[]admin.ProviderState{pool("acme")},
			[]string{
				"PROVIDER  ACCOUNT  STATE       5H  7D  FABLE  HEADROOM  REQUESTS",
				"acme      -        no account                           ",
			},
		},
	} {
		var out strings.Builder
		if err := new(statusCommand).print(&out, admin.Pools{Providers: c.pools}, &claude.Family, now); err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(c.want, "\n") + "\n"; out.String() != want {
			t.Errorf("\ngot\n%swant\n%s", out.String(), want)
		}
	}
}
