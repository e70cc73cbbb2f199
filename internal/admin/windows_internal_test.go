package admin

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/clock"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// acmeWindows are a family's windows: one that has fields of its own in the API, one that has none, and one of a scope.
var acmeWindows = quota.NewTable(
	quota.Window{Name: "1h", Field: "1h", Title: "hourly window", Length: time.Hour},
	quota.Window{Name: "7d", Field: "7d", Title: "weekly window", Length: 7 * 24 * time.Hour},
	quota.Window{Name: "large", Field: "large", Title: "weekly window of large models", Length: 7 * 24 * time.Hour, Scope: "large"},
)

// FAM-6, ADM-3: an account lists its windows and scopes if some have no fields of their own. The fields of windows that it does not
// have are null. A client of the API reads the same from it as the page shows.
func TestListedState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool.NewRegistry(clock.Clock{}, map[string]*quota.Table{"acme": acmeWindows}).Pool("acme")
		key := identity.OfStoreEntry("acme", "a")
		p.Configure([]pool.Account{{Name: "a", Key: key, Priority: 100, Soft: quota.Soft(0.9)}}, pool.Policy{})
		now, reset := time.Now(), time.Now().Add(2*time.Hour)
		signal := quota.Signal{Windows: [quota.MaxWindows]quota.WindowSignal{
			{Utilization: 0.25, HasUtilization: true}, {Utilization: 0.5, HasUtilization: true}, {Utilization: 1, HasUtilization: true, Status: "rejected", Reset: reset},
		}}
		p.Observe(key, pool.Outcome{Sent: now, Event: pool.ScopeRejected, RejectedScope: "large", Cooldown: time.Hour, Signal: signal})
		shown := stateOf(&p.Snapshot()[0], false, false)

		quarter, half, full, rejected, resets := 0.25, 0.5, 1.0, "rejected", reset.Unix()
		windows := []WindowState{
			{Window: "1h", Utilization: &quarter, Threshold: 0.9},
			{Window: "7d", Utilization: &half, Threshold: 0.9},
			{Window: "large", Scope: "large", Utilization: &full, Reset: &resets, Status: &rejected, Threshold: 0.9},
		}
		if diff := cmp.Diff(windows, shown.AllWindows()); diff != "" {
			t.Error(diff)
		}
		if *shown.Utilization7d != 0.5 || *shown.Threshold7d != 0.9 || shown.Threshold5h != nil || shown.ThresholdFable != nil {
			t.Errorf("%+v", shown)
		}
		until := now.Unix() + 3600
		want := Summary{State: "cooling down", Detail: "Large quota used up", Until: &until, Tone: "warn"}
		if diff := cmp.Diff(want, shown.Summary(now.Unix())); diff != "" {
			t.Error(diff)
		}
		if !clearable(&shown) {
			t.Error("the cooldown cannot be cleared")
		}
		var received AccountState
		if err := json.Unmarshal(encoded(shown), &received); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown, received); diff != "" {
			t.Error(diff)
		}
	})
}

// FAM-6: the page has a bar for each window of an account, and one legend for the plots of all.
func TestWindowsOnThePage(t *testing.T) {
	threshold := 0.9
	two := AccountState{Windows: []WindowState{{Window: "1h", Threshold: threshold}, {Window: "7d", Threshold: threshold}}}
	flat := AccountState{Threshold5h: &threshold, Threshold7d: &threshold, ThresholdFable: &threshold}
	for _, c := range []struct {
		account AccountState
		want    []string
	}{{two, []string{"1h", "7d"}}, {flat, []string{"5h", "7d", "Fable"}}, {AccountState{}, nil}} {
		var got []string
		for _, bar := range barsOf(&c.account) {
			got = append(got, bar.Window)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}

	two.AccountRef, flat.AccountRef = "two", "flat"
	pools := Pools{[]ProviderState{{Provider: "p", Accounts: []AccountState{flat, two}}}}
	var a Admin
	for range 2 {
		a.history.add(time.Now(), pools)
	}
	plots := a.plots(pools)
	want := []legendEntry{{"line0", "5h"}, {"line1", "7d"}, {"line2", "Fable"}, {"line3", "1h"}}
	if diff := cmp.Diff(want, plots.Legend); diff != "" {
		t.Error(diff)
	}
	if lines := plots.Plots[1].Lines; len(lines) != 2 || lines[0].Class != "line3" || lines[1].Class != "line1" {
		t.Errorf("%+v", lines)
	}
}

// FAM-6: explanations have the titles of the windows and words for the causes of every family.
func TestWordsOfFamilies(t *testing.T) {
	families := []Family{{Windows: quota.NewTable(quota.Window{Name: "7d", Title: "seven-day window"})}, {Windows: acmeWindows}, {}}
	want := map[string]string{"7d": "seven-day window", "1h": "hourly window", "large": "weekly window of large models"}
	if diff := cmp.Diff(want, windowTitles(families)); diff != "" {
		t.Error(diff)
	}
	if words := causesOf(families); len(words) != len(causes)+1 || words["large_rejected"] != "Large quota used up" {
		t.Errorf("%v", words)
	}
}
