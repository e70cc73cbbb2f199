package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/internal/secret"
	"shunt/internal/userfile"
)

// freshFor is how long a token must still be good to be used without a refresh (TOK-1).
const freshFor = 300 * time.Second

// credential is what a source offers. The zero value is none.
type credential struct {
	access  secret.String
	refresh secret.String // zero: cannot be refreshed
	expires time.Time     // zero: unknown
	setup   bool          // a setup token, used verbatim and never refreshed (ACC-2)
	half    time.Time     // when half its life is over; zero: this process did not obtain it
}

func (c credential) refreshable() bool { return !c.setup && !c.refresh.IsZero() }

// fresh reports whether the token needs no refresh before it is used (TOK-1).
func (c credential) fresh(now time.Time) bool {
	return !c.expires.IsZero() && c.expires.Sub(now) > freshFor
}

// expired reports whether the token is known to be worth nothing. One that cannot be refreshed and does not say when it
// expires is left for the provider to judge.
func (c credential) expired(now time.Time) bool {
	if c.expires.IsZero() {
		return c.refreshable()
	}
	return !c.expires.After(now)
}

// sameTokens reports whether a and b are the same login at the same point of its rotation.
func sameTokens(a, b credential) bool { return a.access == b.access && a.refresh == b.refresh }

// span is where something stands in a text.
type span struct{ start, end int }

// document is a credentials file (ACC-1, ACC-3), with the places of what shunt owns in it. Everything else stays as the
// bytes that it is.
type document struct {
	credential
	uuid, organization string // as written, trimmed; empty: unknown

	text  []byte
	login map[string]span // the values in claudeAiOauth
	// What stands before the key of accessToken and between that and its value, to add a member in the same style.
	lead, colon string
}

// parse reads a credentials file. Its error says for a person why the file cannot be used, and never quotes it (TOK-7e).
func parse(content []byte) (document, error) {
	text, err := userfile.Text(content)
	if err != nil {
		return document{}, fmt.Errorf("the file %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return document{}, errors.New("the file is empty")
	}
	if !json.Valid(text) {
		return document{}, errors.New("the file is no valid JSON (truncated?)")
	}
	top, err := members(text, 0)
	if err != nil {
		return document{}, errors.New("the file holds no JSON object")
	}
	d := document{text: text, login: map[string]span{}}
	var inner []member
	for _, m := range top {
		switch m.name {
		case "claudeAiOauth":
			if inner, err = members(text[m.value.start:m.value.end], m.value.start); err != nil {
				inner = nil
			}
		case "shuntAccountUuid":
			d.uuid = stringIn(text, m.value)
		case "shuntOrganizationUuid":
			d.organization = stringIn(text, m.value)
		}
	}
	if inner == nil {
		return document{}, errors.New("the file has no claudeAiOauth login")
	}
	for _, m := range inner {
		d.login[m.name] = m.value
		if m.name == "accessToken" {
			d.lead, d.colon = string(text[m.lead.start:m.lead.end]), string(text[m.key.end:m.value.start])
		}
	}
	if d.access, err = token(stringIn(text, d.login["accessToken"])); err != nil {
		return document{}, fmt.Errorf("accessToken %w", err)
	}
	if d.access.IsZero() {
		return document{}, errors.New("the claudeAiOauth login has no accessToken")
	}
	if d.refresh, err = token(stringIn(text, d.login["refreshToken"])); err != nil {
		return document{}, fmt.Errorf("refreshToken %w", err)
	}
	d.expires = timeIn(text, d.login["expiresAt"])
	d.setup = stringIn(text, d.login["shuntCredentialKind"]) == "setup_token"
	return d, nil
}

// with returns the file with another login in place of its own. All bytes but the values of accessToken, refreshToken
// and expiresAt are those of the file (ACC-1).
func (d document) with(c credential) []byte {
	type edit struct {
		span
		text string
	}
	var edits []edit
	set := func(name, value string) {
		if at, ok := d.login[name]; ok {
			edits = append(edits, edit{at, value})
			return
		}
		end := d.login["accessToken"].end
		edits = append(edits, edit{span{end, end}, "," + d.lead + strconv.Quote(name) + d.colon + value})
	}
	if c.access != d.access {
		set("accessToken", quote(c.access.Reveal()))
	}
	if c.refresh != d.refresh {
		set("refreshToken", quote(c.refresh.Reveal()))
	}
	if c.expires.UnixMilli() != d.expires.UnixMilli() {
		set("expiresAt", strconv.FormatInt(c.expires.UnixMilli(), 10))
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, d.text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, d.text[at:]...)
}

// member is one member of a JSON object: white space, key, colon, value.
type member struct {
	name             string
	lead, key, value span
}

// members splits an object of valid JSON; offset is where text begins in the whole. The last of equal names counts, as
// for every program that reads such a file, so it comes last.
func members(text []byte, offset int) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("no object")
	}
	list := []member{}
	end := int(decoder.InputOffset()) // of what stands before the member
	for decoder.More() {
		if len(list) > 0 {
			end += bytes.IndexByte(text[end:], ',') + 1
		}
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m := member{lead: span{end, end + bytes.IndexByte(text[end:], '"')}}
		m.name, _ = name.(string)
		m.key = span{m.lead.end, int(decoder.InputOffset())}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		end = int(decoder.InputOffset())
		m.value = span{end - len(value), end}
		for _, s := range []*span{&m.lead, &m.key, &m.value} {
			s.start, s.end = s.start+offset, s.end+offset
		}
		list = append(list, m)
	}
	return list, nil
}

// stringIn is the trimmed string at s, or empty if another type stands there.
func stringIn(text []byte, s span) string {
	var value string
	if json.Unmarshal(text[s.start:s.end], &value) != nil {
		return ""
	}
	return strings.TrimSpace(value)
}

// timeIn is the time that the number of milliseconds at s stands for, or zero.
func timeIn(text []byte, s span) time.Time {
	var ms float64
	if json.Unmarshal(text[s.start:s.end], &ms) != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Min(ms, 1<<52)))
}

// token takes what was read as a token, without white space around it, if it can stand in a header.
func token(s string) (secret.String, error) {
	s = strings.TrimSpace(s)
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f {
			return secret.String{}, errors.New("holds white space or characters that no token has (was it pasted with a line break?)")
		}
	}
	return secret.New(s), nil
}

func quote(s string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
