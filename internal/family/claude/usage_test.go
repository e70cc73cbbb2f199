package claude_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/family/claude"
	"shunt/internal/quota"
)

// wholeReply has the shape of the endpoint's response, windows included that shunt does not know.
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
func used(fraction float64, reset string) quota.WindowUsage {
	w := quota.WindowUsage{Utilization: fraction, Has: true}
	if reset != "" {
		w.Reset = at(reset)
	}
	return w
}

// QUO-22, QUO-25: which part of a response is which window's, and what is no part.
func TestParseUsage(t *testing.T) {
	const five, seven, fable = claude.FiveHour, claude.SevenDay, claude.Fable
	type windows = map[int]quota.WindowUsage
	for _, c := range []struct {
		name, response string
		want           windows
	}{
		{"the whole", wholeReply, windows{
			five: used(0.38, "2026-03-01T17:00:00Z"), seven: used(1.04, "2026-03-05T06:00:00Z"), fable: used(0.12, ""),
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
			`{"five_hour":[],"limits":[3,null,"x",[],{"kind":3,"percent":4},{"kind":"session","percent":5,"resets_at":17},` +
				`{"kind":"weekly_scoped","percent":6,"scope":{"model":"Fable"}},{"kind":"weekly_scoped","percent":6,"scope":null},{"kind":"weekly_all","percent":8,"resets_at":"tomorrow"}]}`,
			windows{five: used(0.05, ""), seven: used(0.08, "")},
		},
		{"rows are a list", `{"limits":{"kind":"session","percent":5},"seven_day":{"utilization":8}}`, windows{seven: used(0.08, "")}},
		{
			"a row with a scope is not a window of the account",
			`{"limits":[{"kind":"session","percent":91,"scope":{"model":{"display_name":"Opus"}}},{"kind":"session","percent":4,"scope":null},` +
				`{"kind":"weekly_all","percent":92,"scope":{"surface":"web"}},{"kind":"weekly_all","percent":93,"scope":{}},{"kind":"weekly_all","percent":94,"scope":"x"},` +
				`{"kind":"session","percent":95,"scope":{"model":{"display_name":"Fable"}}}]}`,
			windows{five: used(0.04, "")},
		},
		{
			"a row with a scope does not raise a flat window",
			`{"five_hour":{"utilization":10},"seven_day":{"utilization":20},"limits":[{"kind":"session","percent":91,"scope":{"model":{"display_name":"Opus"}}},` +
				`{"kind":"weekly_all","percent":92,"scope":{"model":null}},{"kind":"weekly_scoped","percent":93,"scope":{"model":{"display_name":"Opus"}}}]}`,
			windows{five: used(0.1, ""), seven: used(0.2, "")},
		},
		{"a scoped row needs its scope", `{"limits":[{"kind":"weekly_scoped","percent":6,"scope":null},{"kind":"weekly_scoped","percent":7}]}`, nil},
		{
			"of several rows, the highest",
			`{"limits":[{"kind":"session","percent":5},{"kind":"session","percent":7,"resets_at":"2026-03-01T17:00:00Z"},{"kind":"session","percent":6},` +
				`{"kind":"weekly_scoped","percent":30,"scope":{"model":{"display_name":"Fable"}}},{"kind":"weekly_scoped","percent":40,"scope":{"model":{"display_name":"Fable"}}}]}`,
			windows{five: used(0.07, "2026-03-01T17:00:00Z"), fable: used(0.4, "")},
		},
		{
			"a row above the flat window, with its reset",
			`{"five_hour":{"utilization":20,"resets_at":"2026-03-01T16:00:00Z"},"limits":[{"kind":"session","percent":30,"resets_at":"2026-03-01T17:00:00Z"}]}`,
			windows{five: used(0.3, "2026-03-01T17:00:00Z")},
		},
		{
			"a flat window above the row, with its reset",
			`{"limits":[{"kind":"weekly_all","percent":30,"resets_at":"2026-03-05T06:00:00Z"}],"seven_day":{"utilization":40,"resets_at":"2026-03-06T06:00:00Z"}}`,
			windows{seven: used(0.4, "2026-03-06T06:00:00Z")},
		},
		{
			"extra usage and unknown windows are ignored",
			`{"five_hour":{"utilization":1},"extra_usage":{"utilization":99},"seven_day_opus":{"utilization":98},"limits":[{"kind":"monthly","percent":97},{"kind":"extra_usage","percent":96},{"percent":95}]}`,
			windows{five: used(0.01, "")},
		},
		{"names are exact", `{"five_hour":{"Utilization":50},"limits":[{"Kind":"session","percent":50},{"kind":"session","Percent":50}]}`, nil},
		{"Fable's name is exact", `{"limits":[{"kind":"weekly_scoped","percent":6,"scope":{"model":{"display_name":"Fable 5"}}}]}`, nil},
	} {
		got, err := claude.Family.Usage.Parse([]byte(c.response))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var want quota.Usage
		for w, u := range c.want {
			want.Windows[w] = u
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}

// QUO-24: what is no response of the endpoint is an error, which does not quote it.
func TestParseUsageRefuses(t *testing.T) {
	for response, want := range map[string]string{
		``: "the response is not a JSON object", `<html>`: "the response is not a JSON object", `[]`: "the response is not a JSON object", `"five_hour"`: "the response is not a JSON object",
		`{"five_hour":{"utilization":37}`: "the response is not a JSON object",
		`null`:                            "the response contains no quota window", `{}`: "the response contains no quota window",
		`{"type":"error","error":{"type":"rate_limit_error","message":"no"}}`: "the response contains no quota window",
	} {
		if got, err := claude.Family.Usage.Parse([]byte(response)); err == nil || err.Error() != want || got != (quota.Usage{}) {
			t.Errorf("%s: %+v, %v", response, got, err)
		}
	}
}

// FuzzParseUsage: what comes out is what a plain reading of the JSON gives (QUO-22, QUO-25).
func FuzzParseUsage(f *testing.F) {
	f.Add([]byte(wholeReply))
	f.Add([]byte(`{"five_hour":{"utilization":-1e-400,"resets_at":"0000-01-01T00:00:00Z"}}`))
	f.Add([]byte(`{"limits":[{"kind":"session","percent":null},{"kind":"session","percent":1e308}]}`))
	f.Add([]byte(`{"five_hour":{"utilization":1,"utilization":null}}`))
	f.Add([]byte(`{"limits":[{"kind":"session","percent":9,"scope":{}},{"kind":"weekly_all","percent":3,"scope":null,"scope":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		report, err := claude.Family.Usage.Parse(body)
		if err != nil && report != (quota.Usage{}) {
			t.Fatalf("%+v beside %v", report, err)
		}
		for w, got := range report.Windows {
			if math.IsNaN(got.Utilization) || math.IsInf(got.Utilization, 0) || got.Utilization < 0 {
				t.Errorf("window %d: %v", w, got.Utilization)
			}
			if want := highest(readings(body, w)); got != want {
				t.Errorf("window %d: %+v, want %+v", w, got, want)
			}
		}
	})
}

// readings are all that a response says of a window, the flat one first.
func readings(body []byte, w int) (list []quota.WindowUsage) {
	add := func(percent, resetsAt any) {
		number, _ := percent.(json.Number)
		value, err := strconv.ParseFloat(number.String(), 64)
		if err != nil {
			return
		}
		text, _ := resetsAt.(string)
		reset, _ := time.Parse(time.RFC3339, text)
		list = append(list, quota.WindowUsage{Utilization: max(0, value) / 100, Has: true, Reset: reset})
	}
	response := decoded(body)
	if w != claude.Fable {
		flat, _ := response[[...]string{"five_hour", "seven_day"}[w]].(map[string]any)
		add(flat["utilization"], flat["resets_at"])
	}
	rows, _ := response["limits"].([]any)
	for _, each := range rows {
		row, _ := each.(map[string]any)
		scope, _ := row["scope"].(map[string]any)
		model, _ := scope["model"].(map[string]any)
		if row["kind"] == [...]string{"session", "weekly_all", "weekly_scoped"}[w] &&
			(w == claude.Fable && model["display_name"] == "Fable" || w != claude.Fable && row["scope"] == nil) {
			add(row["percent"], row["resets_at"])
		}
	}
	return list
}

func decoded(body []byte) (response map[string]any) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if !json.Valid(body) || decoder.Decode(&response) != nil {
		return nil
	}
	return response
}

func highest(list []quota.WindowUsage) (best quota.WindowUsage) {
	for _, r := range list {
		if !best.Has || r.Utilization > best.Utilization {
			best = r
		}
	}
	return best
}

// USE-2: what clients read is what the provider would send: a percentage of two decimals and a reset, each if known.
func TestAppendUsage(t *testing.T) {
	reset := time.Date(2026, 1, 2, 13, 0, 0, 0, time.UTC)
	window := func(used float64) quota.WindowUsage {
		return quota.WindowUsage{Utilization: used, Has: true, Reset: reset}
	}
	for want, u := range map[string]quota.Usage{
		`{}`: {},
		`{"five_hour":{"utilization":12.35,"resets_at":"2026-01-02T13:00:00Z"},"seven_day":{"utilization":50},` +
			`"limits":[{"kind":"weekly_scoped","scope":{"model":{"display_name":"Fable"}},"percent":120,"resets_at":"2026-01-02T13:00:00Z"}]}`: {
			Windows: [quota.MaxWindows]quota.WindowUsage{window(0.123456), {Utilization: 0.5, Has: true}, window(1.2)},
		},
		`{"five_hour":{"utilization":100000000,"resets_at":"2026-01-02T13:00:00Z"}}`: {Windows: [quota.MaxWindows]quota.WindowUsage{window(1e308)}},
	} {
		body := claude.Family.Usage.Append(nil, nil, u)
		if string(body) != want {
			t.Errorf("got  %s\nwant %s", body, want)
		}
		if again, err := claude.Family.Usage.Parse(body); u != (quota.Usage{}) && (err != nil || again.Windows[claude.Fable].Has != u.Windows[claude.Fable].Has) {
			t.Errorf("%s is read as %+v, %v", body, again, err)
		}
	}
}
