package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// The versions of the file's content that can be read. Version 2 had no stamps of statuses (QUO-35).
const (
	version2 = 2
	version3 = 3
)

// windowKeys are the ends of the keys of each window.
var windowKeys = [quota.Windows]string{quota.FiveHour: "5h", quota.SevenDay: "7d", quota.Fable: "7d_oi"}

// The beginnings of the keys of a window; those that speak of a status stand alone for the aggregate.
const (
	utilizationKey      = "utilization"
	resetKey            = "reset"
	observedAtKey       = "observed_at"
	statusKey           = "status"
	observedAtStatusKey = "observed_at_status"
	resetAtStatusKey    = "reset_at_status"
)

type quotasJSON struct {
	Version  int           `json:"version"`
	Accounts []accountJSON `json:"accounts"`
}

type accountJSON struct {
	Key   keyJSON `json:"key"`
	Quota fields  `json:"quota"`
}

// claudeFamily is the family whose accounts are read.
const claudeFamily = "claude"

type keyJSON struct {
	Family   string       `json:"store_family"`
	Identity identityJSON `json:"identity"`
}

type identityJSON struct {
	Kind         string `json:"kind"`
	ID           string `json:"id,omitempty"`
	Organization string `json:"organization,omitempty"`
	Upstream     string `json:"upstream,omitempty"`
	Name         string `json:"name,omitempty"`
}

// fields are the quota of one account by key, each as it is written.
type fields map[string]json.RawMessage

// EncodeQuotas writes version 3 (QUO-33). Equal quotas give equal bytes.
func EncodeQuotas(q Quotas) []byte {
	file := quotasJSON{Version: version3, Accounts: []accountJSON{}}
	byText := func(a, b identity.Key) int { return strings.Compare(a.String(), b.String()) }
	for _, key := range slices.SortedFunc(maps.Keys(q), byText) {
		if id, ok := identityOf(key); ok {
			file.Accounts = append(file.Accounts, accountJSON{keyJSON{key.Family(), id}, encode(q[key])})
		}
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic(err) // strings and whole numbers only
	}
	return append(data, '\n')
}

// DecodeQuotas reads version 3, or version 2 as a process of that start has to understand it. Current is whether it is
// version 3. Accounts of a family or a kind that this version does not know are left out.
func DecodeQuotas(data []byte, start time.Time) (q Quotas, current bool, err error) {
	var file quotasJSON
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, false, withoutContent(err)
	}
	if file.Version != version2 && file.Version != version3 {
		return nil, false, fmt.Errorf("version %d is unknown", file.Version)
	}
	q = Quotas{}
	for _, a := range file.Accounts {
		key, ok := a.Key.decode()
		if !ok {
			continue
		}
		r, err := a.Quota.decode()
		if err != nil {
			return nil, false, err
		}
		if file.Version == version2 {
			r.Migrate(start)
		}
		q[key] = r
	}
	return q, file.Version == version3, nil
}

func identityOf(key identity.Key) (id identityJSON, ok bool) {
	switch key.Kind() {
	case identity.Verified:
		return identityJSON{Kind: "verified", ID: key.Name(), Organization: key.Qualifier()}, true
	case identity.StoreEntry:
		return identityJSON{Kind: "store_entry", Name: key.Name()}, true
	case identity.Inline:
		return identityJSON{Kind: "upstream_inline", Upstream: key.Qualifier(), Name: key.Name()}, true
	}
	return identityJSON{}, false
}

func (k keyJSON) decode() (identity.Key, bool) {
	id := &k.Identity
	switch {
	case k.Family != claudeFamily:
	case id.Kind == "verified" && id.ID != "":
		return identity.OfAccount(k.Family, id.ID, id.Organization), true
	case id.Kind == "store_entry" && id.Name != "":
		return identity.OfStoreEntry(k.Family, id.Name), true
	case id.Kind == "upstream_inline" && id.Name != "":
		return identity.OfInline(k.Family, id.Upstream, id.Name), true
	}
	return identity.Key{}, false
}

func encode(r quota.Record) fields {
	f := fields{}
	for w, end := range windowKeys {
		from := &r.Windows[w]
		if from.HasUtilization {
			f[utilizationKey+"_"+end] = strconv.AppendFloat(nil, from.Utilization, 'g', -1, 64)
		}
		f.setTime(resetKey+"_"+end, from.Reset)
		f.setTime(observedAtKey+"_"+end, from.ObservedAt)
		f.setText(statusKey+"_"+end, from.Status)
		f.setTime(observedAtStatusKey+"_"+end, from.ObservedAtStatus)
		f.setTime(resetAtStatusKey+"_"+end, from.ResetAtStatus)
	}
	f.setText(statusKey, r.Status)
	f.setTime(observedAtStatusKey, r.ObservedAtStatus)
	f.setTime(resetAtStatusKey, r.ResetAtStatus)
	return f
}

func (f fields) setTime(key string, t time.Time) {
	if !t.IsZero() {
		f[key] = strconv.AppendInt(nil, bounded(t.Unix()), 10)
	}
}

func (f fields) setText(key, text string) {
	if text != "" {
		f[key], _ = json.Marshal(text) // a string always can be
	}
}

func (f fields) decode() (r quota.Record, err error) {
	d := decoder{fields: f}
	for w, end := range windowKeys {
		to := &r.Windows[w]
		to.Utilization, to.HasUtilization = d.fraction(utilizationKey + "_" + end)
		to.Reset = d.time(resetKey + "_" + end)
		to.ObservedAt = d.time(observedAtKey + "_" + end)
		to.Status = d.text(statusKey + "_" + end)
		to.ObservedAtStatus = d.time(observedAtStatusKey + "_" + end)
		to.ResetAtStatus = d.time(resetAtStatusKey + "_" + end)
	}
	r.Status = d.text(statusKey)
	r.ObservedAtStatus = d.time(observedAtStatusKey)
	r.ResetAtStatus = d.time(resetAtStatusKey)
	return r, d.err
}

// decoder reads fields, each absent if it is missing or null, and remembers the first that is of the wrong type.
type decoder struct {
	fields
	err error
}

func (d *decoder) number(key string) (float64, bool) {
	raw, ok := d.fields[key]
	if !ok || string(raw) == "null" {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		d.fail(key, "a number")
		return 0, false
	}
	return n, true
}

// fraction reads a utilization; one that is negative or too large to be a number is absent (QUO-2).
func (d *decoder) fraction(key string) (float64, bool) {
	n, ok := d.number(key)
	if !ok || n < 0 || math.IsInf(n, 1) {
		return 0, false
	}
	return n, true
}

// time reads whole Unix seconds. Numbers that are out of all reason stand for the nearest time that can be told (QUO-36).
func (d *decoder) time(key string) time.Time {
	n, ok := d.number(key)
	if !ok {
		return time.Time{}
	}
	return time.Unix(bounded(int64(min(max(n, 0), latest))), 0).UTC()
}

func (d *decoder) text(key string) string {
	raw, ok := d.fields[key]
	if !ok || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		d.fail(key, "a string")
	}
	return text
}

func (d *decoder) fail(key, want string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s is not %s", key, want)
	}
}

// latest is the end of the year 9999 in Unix seconds. Up to there, a double holds every second, and [time.Time] can be
// added to and compared without overflow.
const latest = 253_402_300_799

func bounded(seconds int64) int64 { return min(max(seconds, 0), latest) }

// withoutContent is a JSON error that does not quote what it read.
func withoutContent(err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON at byte %d", syntax.Offset)
	case errors.As(err, &wrong):
		return fmt.Errorf("not the expected JSON at byte %d", wrong.Offset)
	}
	return err
}
