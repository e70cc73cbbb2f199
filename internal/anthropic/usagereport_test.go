package anthropic_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/anthropic"
)

// wholeReply has the shape of the endpoint's reply, windows included that shunt does not know.
const wholeReply = `{
	"five_hour": {"utilization": 37.5, "resets_at": "2026-03-01T17:00:00.771862+00:00"},
	"seven_day": {"utilization": 104, "resets_at": "2026-03-05T08:00:00+02:00"},
	"seven_day_opus": {"utilization": 1, "resets_at": null}, "seven_day_sonnet": null, "iguana_necktie": null,
	"extra_usage": {"is_enabled": true, "monthly_limit": 4000, "used_credits": 4000, "utilization": 100},
	"limits": [
		{"kind": "session", "group": "session", "percent": 38, "resets_at": "2026-03-01T17:00:00Z", "scope": null},
		{"kind": "weekly_all", "group": "weekly", "percent": 99, "resets_at": "2026-03-05T06:00:00Z", "scope": null},
		{"kind": "weekly_scoped", "percent": 55, "resets_at": null, "scope": {"model": {"id": null, "display_name": "Sonnet"}, "surface": null}},
		{"kind": "weekly_scoped", "percent": 12, "resets_at": null, "scope": {"model": {"id": null, "display_name": "Fable"}, "surface": null}},
		{"kind": "monthly", "percent": 80, "resets_at": null, "scope": {"model": {"display_name": "Fable"}}}
	]}`

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// used is a window's part of a report; without a reset if that is empty.
func used(fraction float64, reset string) anthropic.WindowUsage {
	w := anthropic.WindowUsage{Utilization: fraction, HasUtilization: true}
	if reset != "" {
		w.Reset = at(reset)
	}
	return w
}

// QUO-22, QUO-25: which part of a reply is which window's, and what is no part.
func TestParseUsage(t *testing.T) {
	const five, seven, fable = anthropic.FiveHour, anthropic.SevenDay, anthropic.Fable
	type windows = map[anthropic.Window]anthropic.WindowUsage
	for _, c := range []struct {
		name, reply string
		want        windows
	}{
		{"the whole", wholeReply, windows{
			five: used(0.375, "2026-03-01T17:00:00.771862Z"), seven: used(1.04, "2026-03-05T06:00:00Z"), fable: used(0.12, ""),
		}},
		{"flat alone", `{"five_hour":{"utilization":0,"resets_at":null},"seven_day":{"utilization":1}}`, windows{five: used(0, ""), seven: used(0.01, "")}},
		{"one window alone", `{"seven_day":{"utilization":50,"resets_at":"2026-03-05T06:00:00Z"}}`, windows{seven: used(0.5, "2026-03-05T06:00:00Z")}},
		{
			"rows alone",
			`{"limits":[{"kind":"weekly_scoped","percent":3,"scope":{"model":{"display_name":"Fable"}}},{"kind":"weekly_all","percent":2},{"kind":"session","percent":1}]}`,
			windows{five: used(0.01, ""), seven: used(0.02, ""), fable: used(0.03, "")},
		},
		{
			"a row without a percentage hides no flat window",
			`{"limits":[{"kind":"session","percent":null}],"five_hour":{"utilization":20}}`,
			windows{five: used(0.2, "")},
		},
		{
			"a row without a percentage hides no other row",
			`{"limits":[{"kind":"weekly_scoped","percent":null,"scope":{"model":{"display_name":"Fable"}}},{"kind":"weekly_scoped","percent":9,"scope":{"model":{"display_name":"Fable"}}}]}`,
			windows{fable: used(0.09, "")},
		},
		{
			"a flat window without a utilization hides no row",
			`{"five_hour":{"utilization":null,"resets_at":"2026-03-01T17:00:00Z"},"limits":[{"kind":"session","percent":7}]}`,
			windows{five: used(0.07, "")},
		},
		{"no limits known", `{"five_hour":null,"seven_day":null,"limits":[]}`, nil},
		{"null is not 0", `{"five_hour":{"utilization":null},"seven_day":{},"limits":null}`, nil},
		{"less than nothing is nothing", `{"five_hour":{"utilization":-3}}`, windows{five: used(0, "")}},
		{"no number", `{"five_hour":{"utilization":"37"},"seven_day":{"utilization":1e999},"limits":[{"kind":"session","percent":{}},{"kind":"weekly_all","percent":true}]}`, nil},
		{
			"malformed parts stand alone",
			`{"five_hour":[],"limits":[3,null,"x",[],{"kind":3,"percent":4},{"kind":"session","percent":5,"resets_at":17,"scope":"x"},` +
				`{"kind":"weekly_scoped","percent":6,"scope":{"model":"Fable"}},{"kind":"weekly_scoped","percent":6,"scope":null},{"kind":"weekly_all","percent":8,"resets_at":"tomorrow"}]}`,
			windows{five: used(0.05, ""), seven: used(0.08, "")},
		},
		{"rows are a list", `{"limits":{"kind":"session","percent":5},"seven_day":{"utilization":8}}`, windows{seven: used(0.08, "")}},
		{"Fable's name is exact", `{"limits":[{"kind":"weekly_scoped","percent":6,"scope":{"model":{"display_name":"Fable 5"}}}]}`, nil},
	} {
		got, err := anthropic.ParseUsage([]byte(c.reply))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var want anthropic.UsageReport
		for w, u := range c.want {
			want.Windows[w] = u
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}

// QUO-24: what is no reply of the endpoint is an error, which does not quote it.
func TestParseUsageRefuses(t *testing.T) {
	for reply, want := range map[string]string{
		``: "the reply is no JSON object", `<html>`: "the reply is no JSON object", `[]`: "the reply is no JSON object", `"five_hour"`: "the reply is no JSON object",
		`{"five_hour":{"utilization":37}`: "the reply is no JSON object",
		`null`:                            "the reply tells of no window", `{}`: "the reply tells of no window",
		`{"type":"error","error":{"type":"rate_limit_error","message":"no"}}`: "the reply tells of no window",
	} {
		if got, err := anthropic.ParseUsage([]byte(reply)); err == nil || err.Error() != want || got != (anthropic.UsageReport{}) {
			t.Errorf("%s: %+v, %v", reply, got, err)
		}
	}
}

// FuzzParseUsage: what comes out is in range, and a flat window reads as encoding/json has it (QUO-22, QUO-25).
func FuzzParseUsage(f *testing.F) {
	f.Add([]byte(wholeReply))
	f.Add([]byte(`{"five_hour":{"utilization":-1e-400,"resets_at":"0000-01-01T00:00:00Z"}}`))
	f.Add([]byte(`{"limits":[{"kind":"session","percent":null},{"kind":"session","percent":1e308}]}`))
	f.Add([]byte(`{"five_hour":{"utilization":1,"utilization":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		report, err := anthropic.ParseUsage(body)
		if err != nil && report != (anthropic.UsageReport{}) {
			t.Fatalf("%+v beside %v", report, err)
		}
		for w, u := range report.Windows {
			if math.IsNaN(u.Utilization) || math.IsInf(u.Utilization, 0) || u.Utilization < 0 {
				t.Errorf("window %d: %v", w, u.Utilization)
			}
			if !u.HasUtilization && u != (anthropic.WindowUsage{}) {
				t.Errorf("window %d: %+v without a utilization", w, u)
			}
		}
		var parts map[string]json.RawMessage
		var flat map[string]any
		if json.Unmarshal(body, &parts) != nil || json.Unmarshal(parts["five_hour"], &flat) != nil || len(flat) != 1 {
			return
		}
		want, ok := flat["utilization"].(float64)
		if got := report.Windows[anthropic.FiveHour]; ok && (!got.HasUtilization || got.Utilization != max(0, want)/100) {
			t.Errorf("%s: %+v, want %v %%", body, got, want)
		}
	})
}
