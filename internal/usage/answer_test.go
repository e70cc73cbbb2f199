package usage_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/usage"
)

// member is an available account that has used the given fractions of the windows, whose resets are an hour, a day and two days away; a
// negative one is not reported.
func member(key string, used [claude.WindowCount]float64, change ...func(*pool.Status)) pool.Status {
	s := pool.Status{Account: pool.Account{Name: key, Key: identity.OfAccount("claude", key, ""), Priority: 100}, Available: true}
	s.Scopes = []pool.ScopeStatus{{Scope: claude.FableScope}}
	s.Quota = quotaOf(used, [claude.WindowCount]time.Duration{time.Hour, 24 * time.Hour, 48 * time.Hour})
	for _, f := range change {
		f(&s)
	}
	return s
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func quotaOf(used [claude.WindowCount]float64, resets [claude.WindowCount]time.Duration) quota.State {
	var sig quota.Signal
	for w, u := range used {
		if u >= 0 {
			sig.Windows[w] = quota.WindowSignal{Utilization: u, HasUtilization: true}
			if resets[w] > 0 {
				sig.Windows[w].Reset = noon.Add(resets[w])
			}
		}
	}
	q := quota.NewState(claude.Family.Windows)
	q.Record(sig, noon, noon)
	return q
}

func disabled(s *pool.Status) {
	s.Disabled, s.Available, s.Group, s.Scopes[0].Group = true, false, pool.Out, pool.Out
}

func paused(s *pool.Status) {
	s.Paused, s.Available, s.Group, s.Scopes[0].Group = true, false, pool.Out, pool.Out
}

func cooled(s *pool.Status) {
	s.Available, s.Cooldown, s.Scopes[0].Cooldown = false, time.Minute, time.Minute
}
func fableCooled(s *pool.Status) { s.Scopes[0].Cooldown = time.Minute }
func near(s *pool.Status)        { s.NearQuota = true }
func capped(s *pool.Status) {
	s.Available, s.Group, s.Scopes[0].Group, s.CappedUntil = false, pool.Out, pool.Out, noon.Add(time.Hour)
}
func first(s *pool.Status)       { s.Priority = 1 }
func neverResets(s *pool.Status) { s.Quota = quotaOf([3]float64{0.5, -1, -1}, [3]time.Duration{}) }
func soonResets(s *pool.Status) {
	s.Quota = quotaOf([3]float64{0.5, -1, -1}, [3]time.Duration{time.Minute})
}

var unknown = [3]float64{-1, -1, -1}

func asked(h http.Handler) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Body.String()
}

func pools(all map[string][]pool.Status) func() []usage.Provider {
	return func() []usage.Provider {
		var list []usage.Provider
		for name, accounts := range all {
			list = append(list, usage.Provider{Name: name, Accounts: accounts})
		}
		return list
	}
}

// USE-1: what is left, on average over the accounts that tell, and the soonest reset.
func TestSummary(t *testing.T) {
	used := func(fiveHour float64) [3]float64 { return [3]float64{fiveHour, -1, -1} }
	const nothing = `"7d":{"remaining":null,"resets_at":null},"fable":{"remaining":null,"resets_at":null}}`
	one := func(status, fiveHour string) string {
		return `{"status":"` + status + `","windows":{"5h":` + fiveHour + `,` + nothing + `}`
	}
	const hour, minute, none = `"resets_at":1767358800}`, `"resets_at":1767355260}`, `{"remaining":null,"resets_at":null}`
	for name, c := range map[string]struct {
		accounts []pool.Status
		want     string
	}{
		"nobody":                {nil, one("exhausted", none)},
		"unknown":               {[]pool.Status{member("a", unknown)}, one("ok", none)},
		"one":                   {[]pool.Status{member("a", used(0.25))}, one("ok", `{"remaining":0.75,`+hour)},
		"a mean of four digits": {[]pool.Status{member("a", used(0.1)), member("b", used(0.2)), member("c", used(0.2)), member("d", unknown)}, one("ok", `{"remaining":0.8333,`+hour)},
		"more than all":         {[]pool.Status{member("a", used(1.5)), member("b", used(0.5))}, one("ok", `{"remaining":0.25,`+hour)},
		"one account twice":     {[]pool.Status{member("a", used(0.25)), member("a", used(0.25)), member("b", used(0.5))}, one("ok", `{"remaining":0.625,`+hour)},
		"disabled ones aside":   {[]pool.Status{member("a", used(0.25)), member("b", used(1), disabled)}, one("ok", `{"remaining":0.75,`+hour)},
		"paused ones too":       {[]pool.Status{member("a", used(0)), member("b", used(1), paused)}, one("ok", `{"remaining":0.5,`+hour)},
		"the soonest reset":     {[]pool.Status{member("a", used(0.5)), member("b", used(0.5), soonResets)}, one("ok", `{"remaining":0.5,`+minute)},
		"no reset":              {[]pool.Status{member("a", used(0.5), neverResets)}, one("ok", `{"remaining":0.5,"resets_at":null}`)},
		"near":                  {[]pool.Status{member("a", unknown), member("b", unknown, near)}, one("degraded", none)},
		"near but disabled":     {[]pool.Status{member("a", unknown), member("b", unknown, near, disabled)}, one("ok", none)},
		"cooled":                {[]pool.Status{member("a", unknown, cooled)}, one("exhausted", none)},
		"cooled and free":       {[]pool.Status{member("a", unknown, cooled), member("b", unknown)}, one("ok", none)},
		"capped":                {[]pool.Status{member("a", unknown, cooled), member("b", unknown, capped)}, one("capped", none)},
		"capped and free":       {[]pool.Status{member("a", unknown), member("b", unknown, capped)}, one("ok", none)},
		"capped but paused":     {[]pool.Status{member("a", unknown, capped, paused)}, one("exhausted", none)},
		"capped but disabled":   {[]pool.Status{member("a", unknown, capped, disabled)}, one("exhausted", none)},
	} {
		want := `{"pool":` + c.want + `,"providers":{"p":` + c.want + "}}\n"
		if got := asked(usage.Summary(pools(map[string][]pool.Status{"p": c.accounts}))); got != want {
			t.Errorf("%s:\ngot  %swant %s", name, got, want)
		}
	}
	got := asked(usage.Summary(pools(map[string][]pool.Status{
		"p": {member("a", used(0.5))}, "q": {member("a", used(0.5)), member("b", used(0), cooled)},
	})))
	want := `{"pool":` + one("ok", `{"remaining":0.75,`+hour) + `,"providers":{"p":` + one("ok", `{"remaining":0.5,`+hour) +
		`,"q":` + one("ok", `{"remaining":0.75,`+hour) + "}}\n"
	if got != want {
		t.Errorf("an account of two pools:\ngot  %swant %s", got, want)
	}
	if got, want := asked(usage.Summary(pools(nil))), `{"pool":`+one("exhausted", none)+`,"providers":{}}`+"\n"; got != want {
		t.Errorf("no pool: got %s, want %s", got, want)
	}
}

// USE-2: for each window the fullest of the accounts that would serve.
func TestBars(t *testing.T) {
	const (
		hour  = `"resets_at":"2026-01-02T13:00:00Z"`
		day   = `"resets_at":"2026-01-03T12:00:00Z"`
		two   = `"resets_at":"2026-01-04T12:00:00Z"`
		scope = `{"kind":"weekly_scoped","scope":{"model":{"display_name":"Fable"}},"percent":`
	)
	fiveHour := func(percent string) string { return `{"five_hour":{"utilization":` + percent + `,` + hour + `}}` }
	used := func(f float64) [3]float64 { return [3]float64{f, -1, -1} }
	fable := func(f float64) [3]float64 { return [3]float64{-1, -1, f} }
	for name, c := range map[string]struct {
		accounts []pool.Status
		want     string
	}{
		"nobody":                {nil, `{}`},
		"unknown":               {[]pool.Status{member("a", unknown)}, `{}`},
		"all windows":           {[]pool.Status{member("a", [3]float64{0.123456, 0.5, 1.2})}, `{"five_hour":{"utilization":12.35,` + hour + `},"seven_day":{"utilization":50,` + day + `},"limits":[` + scope + `120,` + two + `}]}`},
		"no reset":              {[]pool.Status{member("a", used(0), neverResets)}, `{"five_hour":{"utilization":50}}`},
		"the fullest":           {[]pool.Status{member("a", used(0.1)), member("b", used(0.3)), member("c", used(0.2))}, fiveHour("30")},
		"of the first":          {[]pool.Status{member("a", used(0.1), first), member("b", used(0.3)), member("c", used(0.2), first)}, fiveHour("20")},
		"of the available":      {[]pool.Status{member("a", used(0.1)), member("b", used(0.9), first, cooled)}, fiveHour("10")},
		"who report it":         {[]pool.Status{member("a", unknown), member("b", used(0.9), cooled)}, fiveHour("90")},
		"all, if none is":       {[]pool.Status{member("a", used(0.1), paused), member("b", used(0.9), cooled)}, fiveHour("90")},
		"disabled ones aside":   {[]pool.Status{member("a", used(0.9), disabled)}, `{}`},
		"Fable on its own":      {[]pool.Status{member("a", fable(0.1)), member("b", fable(0.9), fableCooled)}, `{"limits":[` + scope + `10,` + two + `}]}`},
		"Fable, nobody is free": {[]pool.Status{member("a", fable(0.1), fableCooled), member("b", fable(0.9), cooled)}, `{"limits":[` + scope + `90,` + two + `}]}`},
		"absurd":                {[]pool.Status{member("a", used(1e308))}, fiveHour("100000000")},
	} {
		if got := asked(usage.Bars(pools(map[string][]pool.Status{"p": c.accounts}))); got != c.want+"\n" {
			t.Errorf("%s:\ngot  %swant %s", name, got, c.want)
		}
	}
}
