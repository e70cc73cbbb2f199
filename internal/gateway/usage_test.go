package gateway_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"shunt/internal/gateway"
	"shunt/internal/observe"
)

// member returns an available account that has used the given fractions of the windows, whose resets are an hour, a day and two
// days away; a negative fraction is not reported.
func member(identity string, used [3]float64, change ...func(*gateway.AccountUsage)) gateway.AccountUsage {
	a := gateway.AccountUsage{Identity: identity, Priority: 100, Available: true, Windows: map[string]gateway.WindowUsage{}}
	for i, after := range []time.Duration{time.Hour, 24 * time.Hour, 48 * time.Hour} {
		if used[i] >= 0 {
			a.Windows[windowNames[i]] = gateway.WindowUsage{Utilization: used[i], Reset: noon.Add(after), Available: true}
		}
	}
	for _, f := range change {
		f(&a)
	}
	return a
}

var (
	noon        = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	windowNames = []string{"5h", "7d", "fable"}
	unknown     = [3]float64{-1, -1, -1}
)

func cooled(a *gateway.AccountUsage) {
	a.Available = false
	for name := range a.Windows {
		changeWindow(a, name, func(w *gateway.WindowUsage) { w.Available = false })
	}
}

func changeWindow(a *gateway.AccountUsage, name string, change func(*gateway.WindowUsage)) {
	w := a.Windows[name]
	change(&w)
	a.Windows[name] = w
}

func scopeCooled(a *gateway.AccountUsage) {
	changeWindow(a, "fable", func(w *gateway.WindowUsage) { w.Available = false })
}
func near(a *gateway.AccountUsage)   { a.NearQuota = true }
func capped(a *gateway.AccountUsage) { cooled(a); a.Capped = true }
func first(a *gateway.AccountUsage)  { a.Priority = 1 }
func neverResets(a *gateway.AccountUsage) {
	changeWindow(a, "5h", func(w *gateway.WindowUsage) { w.Utilization, w.Reset = 0.5, time.Time{} })
}

func soonResets(a *gateway.AccountUsage) {
	changeWindow(a, "5h", func(w *gateway.WindowUsage) { w.Reset = noon.Add(time.Minute) })
}

// usageOf returns the body of a response of a usage endpoint of a gateway with these pools.
func usageOf(t *testing.T, path string, pools map[string][]gateway.AccountUsage) string {
	t.Helper()
	return usageBody(t, path, gateway.Options{
		Usage: &gateway.UsageEndpoint{Windows: windowNames, Pools: func() (list []gateway.PoolUsage) {
			for name, accounts := range pools {
				list = append(list, gateway.PoolUsage{Name: name, Windows: windowNames, Accounts: accounts})
			}
			return list
		}},
		ClientUsages: []gateway.ClientUsage{{
			Paths: []string{"/api/oauth/usage"}, Windows: windowNames,
			Accounts: func() (all []gateway.AccountUsage) {
				for _, accounts := range pools {
					all = append(all, accounts...)
				}
				return all
			},
			Append: func(dst []byte, _ http.Header, windows map[string]gateway.WindowUsage) []byte {
				shown := map[string]float64{}
				for name, w := range windows {
					shown[name] = w.Utilization
				}
				body, err := json.Marshal(shown)
				if err != nil {
					t.Fatal(err)
				}
				return append(dst, body...)
			},
		}},
	})
}

// usageBody returns the body of a response of a gateway with these usage endpoints.
func usageBody(t *testing.T, path string, o gateway.Options) string {
	t.Helper()
	d := &door{T: t}
	d.config = d.load(closed)
	o.Dialects, o.Log, o.Record = dialects, slog.New(slog.DiscardHandler), func(*observe.Record) {}
	d.gateway = gateway.New(o, d.state())
	body, err := io.ReadAll(d.send(path, "", local, "X-Team-Token: ann-token").Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// USE-1: what is left, on average over the accounts that report it, and the soonest reset.
func TestSummary(t *testing.T) {
	used := func(fiveHour float64) [3]float64 { return [3]float64{fiveHour, -1, -1} }
	const nothing = `"7d":{"remaining":null,"resets_at":null},"fable":{"remaining":null,"resets_at":null}}`
	one := func(status, fiveHour string) string {
		return `{"status":"` + status + `","windows":{"5h":` + fiveHour + `,` + nothing + `}`
	}
	const hour, minute, none = `"resets_at":1767358800}`, `"resets_at":1767355260}`, `{"remaining":null,"resets_at":null}`
	for name, c := range map[string]struct {
		accounts []gateway.AccountUsage
		want     string
	}{
		"no account":            {nil, one("exhausted", none)},
		"unknown":               {[]gateway.AccountUsage{member("a", unknown)}, one("ok", none)},
		"one":                   {[]gateway.AccountUsage{member("a", used(0.25))}, one("ok", `{"remaining":0.75,`+hour)},
		"a mean of four digits": {[]gateway.AccountUsage{member("a", used(0.1)), member("b", used(0.2)), member("c", used(0.2)), member("d", unknown)}, one("ok", `{"remaining":0.8333,`+hour)},
		"more than all":         {[]gateway.AccountUsage{member("a", used(1.5)), member("b", used(0.5))}, one("ok", `{"remaining":0.25,`+hour)},
		"one account twice":     {[]gateway.AccountUsage{member("a", used(0.25)), member("a", used(0.25)), member("b", used(0.5))}, one("ok", `{"remaining":0.625,`+hour)},
		"the soonest reset":     {[]gateway.AccountUsage{member("a", used(0.5)), member("b", used(0.5), soonResets)}, one("ok", `{"remaining":0.5,`+minute)},
		"no reset":              {[]gateway.AccountUsage{member("a", used(0.5), neverResets)}, one("ok", `{"remaining":0.5,"resets_at":null}`)},
		"near":                  {[]gateway.AccountUsage{member("a", unknown), member("b", unknown, near)}, one("degraded", none)},
		"cooled":                {[]gateway.AccountUsage{member("a", unknown, cooled)}, one("exhausted", none)},
		"cooled and free":       {[]gateway.AccountUsage{member("a", unknown, cooled), member("b", unknown)}, one("ok", none)},
		"capped":                {[]gateway.AccountUsage{member("a", unknown, cooled), member("b", unknown, capped)}, one("capped", none)},
		"capped and free":       {[]gateway.AccountUsage{member("a", unknown), member("b", unknown, capped)}, one("ok", none)},
	} {
		want := `{"pool":` + c.want + `,"providers":{"p":` + c.want + "}}\n"
		if got := usageOf(t, "/usage", map[string][]gateway.AccountUsage{"p": c.accounts}); got != want {
			t.Errorf("%s:\ngot  %swant %s", name, got, want)
		}
	}
	got := usageOf(t, "/usage", map[string][]gateway.AccountUsage{
		"p": {member("a", used(0.5))}, "q": {member("a", used(0.5)), member("b", used(0), cooled)},
	})
	want := `{"pool":` + one("ok", `{"remaining":0.75,`+hour) + `,"providers":{"p":` + one("ok", `{"remaining":0.5,`+hour) +
		`,"q":` + one("ok", `{"remaining":0.75,`+hour) + "}}\n"
	if got != want {
		t.Errorf("an account of two pools:\ngot  %swant %s", got, want)
	}
	if got, want := usageOf(t, "/usage", nil), `{"pool":`+one("exhausted", none)+`,"providers":{}}`+"\n"; got != want {
		t.Errorf("no pool: got %s, want %s", got, want)
	}
}

// FAM-6: a pool shows its own windows, and all pools together show those of every pool.
func TestSummaryOfWindows(t *testing.T) {
	const none = `{"remaining":null,"resets_at":null}`
	summary := func(windows string) string { return `{"status":"exhausted","windows":{` + windows + `}}` }
	for _, c := range []struct {
		pools []gateway.PoolUsage
		want  string
	}{
		{nil, `{"pool":` + summary(`"7d":`+none) + `,"providers":{}}`},
		{[]gateway.PoolUsage{{Name: "p"}}, `{"pool":` + summary("") + `,"providers":{"p":` + summary("") + `}}`},
		{
			[]gateway.PoolUsage{{Name: "p", Windows: []string{"1h"}}, {Name: "q", Windows: []string{"1h", "5h"}}},
			`{"pool":` + summary(`"1h":`+none+`,"5h":`+none) + `,"providers":{"p":` + summary(`"1h":`+none) + `,"q":` + summary(`"1h":`+none+`,"5h":`+none) + `}}`,
		},
	} {
		endpoint := &gateway.UsageEndpoint{Windows: []string{"7d"}, Pools: func() []gateway.PoolUsage { return c.pools }}
		if got := usageBody(t, "/usage", gateway.Options{Usage: endpoint}); got != c.want+"\n" {
			t.Errorf("\ngot  %swant %s", got, c.want)
		}
	}
}

// USE-2: for each window the fullest of the accounts that would serve.
func TestClientUsage(t *testing.T) {
	used := func(f float64) [3]float64 { return [3]float64{f, -1, -1} }
	fable := func(f float64) [3]float64 { return [3]float64{-1, -1, f} }
	for name, c := range map[string]struct {
		accounts []gateway.AccountUsage
		want     string
	}{
		"no account":            {nil, `{}`},
		"unknown":               {[]gateway.AccountUsage{member("a", unknown)}, `{}`},
		"all windows":           {[]gateway.AccountUsage{member("a", [3]float64{0.125, 0.5, 1.25})}, `{"5h":0.125,"7d":0.5,"fable":1.25}`},
		"the fullest":           {[]gateway.AccountUsage{member("a", used(0.1)), member("b", used(0.3)), member("c", used(0.2))}, `{"5h":0.3}`},
		"of the first":          {[]gateway.AccountUsage{member("a", used(0.1), first), member("b", used(0.3)), member("c", used(0.2), first)}, `{"5h":0.2}`},
		"of the available":      {[]gateway.AccountUsage{member("a", used(0.1)), member("b", used(0.9), first, cooled)}, `{"5h":0.1}`},
		"that report it":        {[]gateway.AccountUsage{member("a", unknown), member("b", used(0.9), cooled)}, `{"5h":0.9}`},
		"all, if none is":       {[]gateway.AccountUsage{member("a", used(0.1), cooled), member("b", used(0.9), cooled)}, `{"5h":0.9}`},
		"a scope on its own":    {[]gateway.AccountUsage{member("a", fable(0.1)), member("b", fable(0.9), scopeCooled)}, `{"fable":0.1}`},
		"a scope, none is free": {[]gateway.AccountUsage{member("a", fable(0.1), scopeCooled), member("b", fable(0.9), cooled)}, `{"fable":0.9}`},
	} {
		if got := usageOf(t, "/api/oauth/usage", map[string][]gateway.AccountUsage{"p": c.accounts}); got != c.want+"\n" {
			t.Errorf("%s:\ngot  %swant %s", name, got, c.want)
		}
	}
}
