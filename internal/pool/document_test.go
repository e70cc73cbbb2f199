package pool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

func unix(s int64) time.Time { return time.Unix(s, 0).UTC() }

// begin is when the process of these tests starts.
const begin = 1_800_000_000

var keys = cmp.Comparer(func(a, b identity.Key) bool { return a == b })

// full is an account with every field.
func full() quota.Record {
	r := quota.Record{Status: "allowed", ObservedAtStatus: unix(begin - 1), ResetAtStatus: unix(begin + 60)}
	for w := range r.Windows {
		n := int64(w)
		r.Windows[w] = quota.WindowRecord{
			Utilization: 0.25 * float64(n+1), HasUtilization: true, Reset: unix(begin + 100 + n), ObservedAt: unix(begin - 10 - n),
			Status: "rejected", ObservedAtStatus: unix(begin - 20 - n), ResetAtStatus: unix(begin + 50 + n),
		}
	}
	return r
}

// some is an account with only the week's utilization.
func some() quota.Record {
	var r quota.Record
	r.Windows[pool.SevenDay] = quota.WindowRecord{Utilization: 0, HasUtilization: true, ObservedAt: unix(begin)}
	return r
}

const version3 = `{"version":3,"accounts":[
	{"key":{"store_family":"claude","identity":{"kind":"upstream_inline","upstream":"anthropic","name":"ci"}},"quota":{"observed_at_7d":1800000000,"utilization_7d":0}},
	{"key":{"store_family":"claude","identity":{"kind":"store_entry","name":"work"}},"quota":{"observed_at_7d":1800000000,"utilization_7d":0}},
	{"key":{"store_family":"claude","identity":{"kind":"verified","id":"0a-1b"}},"quota":{
		"utilization_5h":0.25,"reset_5h":1800000100,"observed_at_5h":1799999990,"status_5h":"rejected","observed_at_status_5h":1799999980,"reset_at_status_5h":1800000050,
		"utilization_7d":0.5,"reset_7d":1800000101,"observed_at_7d":1799999989,"status_7d":"rejected","observed_at_status_7d":1799999979,"reset_at_status_7d":1800000051,
		"utilization_7d_oi":0.75,"reset_7d_oi":1800000102,"observed_at_7d_oi":1799999988,"status_7d_oi":"rejected","observed_at_status_7d_oi":1799999978,"reset_at_status_7d_oi":1800000052,
		"status":"allowed","observed_at_status":1799999999,"reset_at_status":1800000060}},
	{"key":{"store_family":"claude","identity":{"kind":"verified","id":"0a-1b","organization":"org"}},"quota":{"observed_at_7d":1800000000,"utilization_7d":0}}]}`

func allKinds() pool.Quotas {
	return pool.Quotas{
		identity.OfAccount("claude", "0a-1b", ""):      full(),
		identity.OfAccount("claude", "0a-1b", "org"):   some(),
		identity.OfStoreEntry("claude", "work"):        some(),
		identity.OfInline("claude", "anthropic", "ci"): some(),
	}
}

// QUO-33: the form of version 3, key by key, and back.
func TestVersion3(t *testing.T) {
	var got, want any
	if err := json.Unmarshal(pool.EncodeQuotas(allKinds(), pool.Tables), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(version3), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	q, current, err := pool.DecodeQuotas([]byte(version3), pool.Tables, unix(begin))
	if err != nil || !current {
		t.Fatalf("%v, current: %v", err, current)
	}
	if diff := cmp.Diff(allKinds(), q, keys); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(`{"version":3,"accounts":[]}`+"\n", string(pool.EncodeQuotas(nil, pool.Tables))); diff != "" {
		t.Error(diff)
	}
}

// decodeOne reads a file of one account whose quota is given.
func decodeOne(t *testing.T, version, quotaJSON string) (quota.Record, error) {
	t.Helper()
	q, _, err := pool.DecodeQuotas([]byte(`{"version":`+version+`,"accounts":[{"key":{"store_family":"claude","identity":{"kind":"verified","id":"x"}},"quota":`+quotaJSON+`}]}`), pool.Tables, unix(begin))
	return q[identity.OfAccount("claude", "x", "")], err
}

// QUO-34, QUO-36: a number that is not a sensible time is read as the nearest one that is; one that is not a utilization is absent.
func TestOddNumbers(t *testing.T) {
	const latest = 253_402_300_799
	window := func(r quota.WindowRecord) quota.Record {
		var all quota.Record
		all.Windows[pool.FiveHour] = r
		return all
	}
	tests := map[string]quota.Record{
		`{"reset_5h":99999999999999999999}`:                        window(quota.WindowRecord{Reset: unix(latest)}),
		`{"reset_5h":9223372036854775807}`:                         window(quota.WindowRecord{Reset: unix(latest)}),
		`{"reset_5h":-99999999999999999999}`:                       window(quota.WindowRecord{Reset: unix(0)}),
		`{"reset_5h":-1}`:                                          window(quota.WindowRecord{Reset: unix(0)}),
		`{"reset_5h":1e400}`:                                       window(quota.WindowRecord{Reset: unix(latest)}),
		`{"reset_5h":1.8e9}`:                                       window(quota.WindowRecord{Reset: unix(begin)}),
		`{"reset_5h":1800000000.9}`:                                window(quota.WindowRecord{Reset: unix(begin)}),
		`{"reset_5h":0}`:                                           window(quota.WindowRecord{Reset: unix(0)}),
		`{"reset_5h":null,"status_5h":null,"utilization_5h":null}`: {},
		`{"utilization_5h":1e400}`:                                 {},
		`{"utilization_5h":-0.5}`:                                  {},
		`{"utilization_5h":1.75}`:                                  window(quota.WindowRecord{Utilization: 1.75, HasUtilization: true}),
		`{"utilization_5h":123456789012345678901234567890}`:        window(quota.WindowRecord{Utilization: 123456789012345678901234567890, HasUtilization: true}),
		`{"utilization_9h":1,"something":{"new":[1]}}`:             {},
		`{}`:   {},
		`null`: {},
	}
	for text, want := range tests {
		got, err := decodeOne(t, "3", text)
		if err != nil || got != want {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", text, err, got, want)
		}
	}
}

// QUO-32: what is not a state file, and one of an unknown version.
func TestBadFiles(t *testing.T) {
	one := func(quotaJSON string) string {
		return `{"version":3,"accounts":[{"key":{"store_family":"claude","identity":{"kind":"verified","id":"secret-id"}},"quota":` + quotaJSON + `}]}`
	}
	tests := map[string]string{
		"":                             "not valid JSON",
		"\x00\x00\x00":                 "not valid JSON",
		`{"version":3,"accounts":[{"k`: "not valid JSON",
		version3 + "x":                 "not valid JSON",
		`[]`:                           "not the expected JSON",
		`"version 3"`:                  "not the expected JSON",
		`{"version":"3"}`:              "not the expected JSON",
		`{"version":3,"accounts":{}}`:  "not the expected JSON",
		`null`:                         "version 0 is unknown",
		`{}`:                           "version 0 is unknown",
		`{"version":1,"accounts":[]}`:  "version 1 is unknown",
		`{"version":4,"accounts":[]}`:  "version 4 is unknown",
		one(`{"reset_5h":"soon"}`):     "reset_5h is not a number",
		one(`{"utilization_7d":true}`): "utilization_7d is not a number",
		one(`{"status_7d_oi":1}`):      "status_7d_oi is not a string",
		one(`{"status":{}}`):           "status is not a string",
		one(`[]`):                      "not the expected JSON",
	}
	for text, want := range tests {
		q, _, err := pool.DecodeQuotas([]byte(text), pool.Tables, unix(begin))
		if err == nil || !strings.Contains(err.Error(), want) || q != nil {
			t.Errorf("%q: %v, want %q", text, err, want)
			continue
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "soon") {
			t.Errorf("%q: the error quotes the file: %v", text, err)
		}
	}
}

// Accounts of a family or a kind that belongs to a later version are left out; the others are not lost.
func TestUnknownAccounts(t *testing.T) {
	const text = `{"version":3,"accounts":[
		{"key":{"store_family":"codex","identity":{"kind":"verified","id":"x"}},"quota":{"reset_5h":"another meaning"}},
		{"key":{"store_family":"claude","identity":{"kind":"hardware","id":"x"}},"quota":{}},
		{"key":{"store_family":"claude","identity":{"kind":"verified"}},"quota":{}},
		{"key":{"store_family":"claude","identity":{"kind":"store_entry","id":"x"}},"quota":{}},
		{"key":{"store_family":"claude","identity":{"kind":"upstream_inline","upstream":"x"}},"quota":{}},
		{"quota":{}},
		{"key":{"store_family":"claude","identity":{"kind":"store_entry","name":"work"}},"quota":{"observed_at_7d":1800000000,"utilization_7d":0}}]}`
	q, _, err := pool.DecodeQuotas([]byte(text), pool.Tables, unix(begin))
	if want := (pool.Quotas{identity.OfStoreEntry("claude", "work"): some()}); err != nil || !cmp.Equal(q, want, keys) {
		t.Errorf("%v: %+v", err, q)
	}
}

// QUO-33: the keys of an account end with the fields of its own family's windows.
func TestDocumentOfTwoFamilies(t *testing.T) {
	of := func(n int64) quota.WindowRecord {
		return quota.WindowRecord{Status: "allowed", ObservedAtStatus: unix(n)}
	}
	both := pool.Quotas{
		identity.OfStoreEntry("plain", "b"): {Windows: [quota.MaxWindows]quota.WindowRecord{of(1), of(2)}},
		identity.OfStoreEntry("two", "a"):   {Windows: [quota.MaxWindows]quota.WindowRecord{of(3), of(4), of(5)}},
	}
	const want = `{"version":3,"accounts":[` +
		`{"key":{"store_family":"plain","identity":{"kind":"store_entry","name":"b"}},"quota":{` +
		`"observed_at_status_30d":1,"observed_at_status_3h":2,"status_30d":"allowed","status_3h":"allowed"}},` +
		`{"key":{"store_family":"two","identity":{"kind":"store_entry","name":"a"}},"quota":{` +
		`"observed_at_status_1d":3,"observed_at_status_1d_big":4,"observed_at_status_1h_fast":5,` +
		`"status_1d":"allowed","status_1d_big":"allowed","status_1h_fast":"allowed"}}]}` + "\n"
	written := pool.EncodeQuotas(both, pool.Tables)
	if diff := cmp.Diff(want, string(written)); diff != "" {
		t.Error(diff)
	}
	if q, _, err := pool.DecodeQuotas(written, pool.Tables, unix(begin)); err != nil || !cmp.Equal(q, both, keys) {
		t.Errorf("%v: %+v", err, q)
	}
	unknown := pool.Quotas{identity.OfStoreEntry("codex", "c"): some()}
	if diff := cmp.Diff(`{"version":3,"accounts":[]}`+"\n", string(pool.EncodeQuotas(unknown, pool.Tables))); diff != "" {
		t.Errorf("a family without a table:\n%s", diff)
	}
}

// QUO-35, QUO-36: a file of version 2 is migrated when it is read; then it is like one of version 3.
func TestVersion2(t *testing.T) {
	const text = `{"version":2,"accounts":[{"key":{"store_family":"claude","identity":{"kind":"verified","id":"x"}},"quota":{
		"utilization_5h":0.5,"reset_5h":1800000600,"observed_at_5h":1799999000,"status_5h":"rejected","status":"rejected"}}]}`
	q, current, err := pool.DecodeQuotas([]byte(text), pool.Tables, unix(begin))
	if err != nil || current {
		t.Fatalf("%v, current: %v", err, current)
	}
	var want quota.Record
	want.Windows[pool.FiveHour] = quota.WindowRecord{
		Utilization: 0.5, HasUtilization: true, Reset: unix(1800000600), ObservedAt: unix(1799999000),
		Status: "rejected", ObservedAtStatus: unix(1799999000), ResetAtStatus: unix(1800000600),
	}
	want.Status, want.ObservedAtStatus = "rejected", unix(1800000600-604_800)
	x := identity.OfAccount("claude", "x", "")
	if q[x] != want {
		t.Errorf("got  %+v\nwant %+v", q[x], want)
	}
	again, current, err := pool.DecodeQuotas(pool.EncodeQuotas(q, pool.Tables), pool.Tables, unix(begin+60))
	if err != nil || !current || again[x] != want {
		t.Errorf("%v, current: %v\nrewritten %+v", err, current, again[x])
	}

	// The same numbers in a file of version 3 stay as they are: its status has no boundary.
	asIs, _, err := pool.DecodeQuotas([]byte(strings.Replace(text, `"version":2`, `"version":3`, 1)), pool.Tables, unix(begin))
	if w := asIs[x].Windows[pool.FiveHour]; err != nil || !w.ObservedAtStatus.IsZero() || !w.ResetAtStatus.IsZero() {
		t.Errorf("%v: %+v", err, w)
	}
}

// QUO-32, QUO-36: for any content, reading fails or returns quotas that survive writing and reading unchanged, and that the
// scheduler can start from.
func FuzzQuotas(f *testing.F) {
	f.Add([]byte(version3))
	f.Add([]byte(strings.Replace(version3, "3", "2", 1)))
	f.Add([]byte(`{"version":3,"accounts":[{"key":{"store_family":"claude","identity":{"kind":"verified","id":"x"}},"quota":{"reset_5h":1e99,"utilization_5h":1e-400,"status":"é\u0000"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, _, err := pool.DecodeQuotas(data, pool.Tables, unix(begin))
		if err != nil {
			return
		}
		written := pool.EncodeQuotas(q, pool.Tables)
		again, current, err := pool.DecodeQuotas(written, pool.Tables, unix(begin))
		if err != nil || !current || !cmp.Equal(q, again, keys) {
			t.Fatalf("%v\nread    %+v\nwritten %s\nagain   %+v", err, q, written, again)
		}
		for _, r := range q {
			s := quota.Import(pool.Tables["claude"], r, unix(begin))
			for w := range quota.MaxWindows {
				if reset, ok := s.Reset(w); ok && !reset.After(unix(begin)) {
					t.Fatalf("reset %v has passed", reset)
				}
			}
		}
	})
}
