package pool

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

// Quotas is the stored quota of each identity.
type Quotas = map[identity.Key]quota.Record

// The versions of the document that can be read. Version 2 had no stamps of statuses (QUO-35).
const (
	version2 = 2
	version3 = 3
)

type documentJSON struct {
	Version  int           `json:"version"`
	Accounts []accountJSON `json:"accounts"`
}

type accountJSON struct {
	Key   keyJSON `json:"key"`
	Quota members `json:"quota"`
}

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

// members are the quota of one account by key, each as it is written.
type members map[string]json.RawMessage

// EncodeQuotas writes a document of version 3 (QUO-33). Tables are the window tables by family; accounts of other families are
// left out. Equal quotas give equal bytes.
func EncodeQuotas(q Quotas, tables map[string]*quota.Table) []byte {
	doc := documentJSON{Version: version3, Accounts: []accountJSON{}}
	byText := func(a, b identity.Key) int { return strings.Compare(a.String(), b.String()) }
	for _, key := range slices.SortedFunc(maps.Keys(q), byText) {
		table := tables[key.Family()]
		id, ok := identityOf(key)
		if !ok || table == nil {
			continue
		}
		record, e := q[key], encoder{members{}}
		visit(&record, table, e)
		doc.Accounts = append(doc.Accounts, accountJSON{keyJSON{key.Family(), id}, e.members})
	}
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err) // strings and whole numbers only
	}
	return append(data, '\n')
}

// DecodeQuotas reads a document of version 3, or one of version 2 with the times that a process of that start can rely on
// (QUO-35). Current reports whether it is of version 3. Accounts of an unknown kind, or of a family without a table, are left
// out. No error quotes the document.
func DecodeQuotas(data []byte, tables map[string]*quota.Table, start time.Time) (q Quotas, current bool, err error) {
	var doc documentJSON
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, false, withoutContent(err)
	}
	if doc.Version != version2 && doc.Version != version3 {
		return nil, false, fmt.Errorf("version %d is unknown", doc.Version)
	}
	q = Quotas{}
	for _, a := range doc.Accounts {
		table := tables[a.Key.Family]
		key, ok := a.Key.decode()
		if !ok || table == nil {
			continue
		}
		var record quota.Record
		d := &decoder{members: a.Quota}
		visit(&record, table, d)
		if d.err != nil {
			return nil, false, d.err
		}
		if doc.Version == version2 {
			record.Migrate(start)
		}
		q[key] = record
	}
	return q, doc.Version == version3, nil
}

// visit calls v for each field of a record with its key (QUO-33). A window's keys end with its field.
func visit(r *quota.Record, t *quota.Table, v visitor) {
	for i, window := range t.Windows() {
		w, end := &r.Windows[i], "_"+window.Field
		v.fraction("utilization"+end, &w.Utilization, &w.HasUtilization)
		v.time("reset"+end, &w.Reset)
		v.time("observed_at"+end, &w.ObservedAt)
		v.text("status"+end, &w.Status)
		v.time("observed_at_status"+end, &w.ObservedAtStatus)
		v.time("reset_at_status"+end, &w.ResetAtStatus)
	}
	v.text("status", &r.Status)
	v.time("observed_at_status", &r.ObservedAtStatus)
	v.time("reset_at_status", &r.ResetAtStatus)
}

// visitor reads or writes the fields of a record.
type visitor interface {
	fraction(key string, value *float64, has *bool)
	time(key string, value *time.Time)
	text(key string, value *string)
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
	case id.Kind == "verified" && id.ID != "":
		return identity.OfAccount(k.Family, id.ID, id.Organization), true
	case id.Kind == "store_entry" && id.Name != "":
		return identity.OfStoreEntry(k.Family, id.Name), true
	case id.Kind == "upstream_inline" && id.Name != "":
		return identity.OfInline(k.Family, id.Upstream, id.Name), true
	}
	return identity.Key{}, false
}

// encoder writes the fields that are present.
type encoder struct{ members }

func (e encoder) fraction(key string, value *float64, has *bool) {
	if *has {
		e.members[key] = strconv.AppendFloat(nil, *value, 'g', -1, 64)
	}
}

func (e encoder) time(key string, value *time.Time) {
	if !value.IsZero() {
		e.members[key] = strconv.AppendInt(nil, bounded(value.Unix()), 10)
	}
}

func (e encoder) text(key string, value *string) {
	if *value != "" {
		e.members[key], _ = json.Marshal(*value) // which cannot fail for a string
	}
}

// decoder reads fields. One that is missing or null is absent. It keeps the error of the first that has the wrong type.
type decoder struct {
	members
	err error
}

func (d *decoder) number(key string) (float64, bool) {
	raw, ok := d.members[key]
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
func (d *decoder) fraction(key string, value *float64, has *bool) {
	if n, ok := d.number(key); ok && n >= 0 && !math.IsInf(n, 1) {
		*value, *has = n, true
	}
}

// time reads whole Unix seconds. A number that is not a sensible time becomes the nearest one that is (QUO-36).
func (d *decoder) time(key string, value *time.Time) {
	if n, ok := d.number(key); ok {
		*value = time.Unix(bounded(int64(min(max(n, 0), latest))), 0).UTC()
	}
}

func (d *decoder) text(key string, value *string) {
	raw, ok := d.members[key]
	if ok && string(raw) != "null" && json.Unmarshal(raw, value) != nil {
		d.fail(key, "a string")
	}
}

func (d *decoder) fail(key, want string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s is not %s", key, want)
	}
}

// latest is the end of the year 9999 in Unix seconds. Up to there, a double represents every second exactly, and a [time.Time]
// can be added to and compared without overflow.
const latest = 253_402_300_799

func bounded(seconds int64) int64 { return min(max(seconds, 0), latest) }

// withoutContent returns a JSON error that does not quote what was read.
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
