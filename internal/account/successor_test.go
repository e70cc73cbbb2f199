package account

import (
	"fmt"
	"strings"
	"testing"

	"shunt/internal/family/claude"
	"shunt/internal/store"
)

// TOK-6b: which orphan replaces a credentials file.
func TestSuccessorIn(t *testing.T) {
	login := func(n, expires int, more string) string {
		return fmt.Sprintf(`{"claudeAiOauth":{"accessToken":"a%d","refreshToken":"r%d","expiresAt":%d,"scopes":["x"]}%s}`, n, n, expires, more)
	}
	const owner, other = `,"shuntAccountUuid":"u-1"`, `,"shuntAccountUuid":"u-2"`
	const inOrg, inOther = owner + `,"shuntOrganizationUuid":"o-1"`, owner + `,"shuntOrganizationUuid":"o-2"`
	setup := func(kind string) string {
		return strings.Replace(login(2, 2000, owner), `"scopes"`, kind+`,"scopes"`, 1)
	}
	for name, c := range map[string]struct {
		file    string
		orphans []store.Orphan
		wants   string // its access token; empty: none
	}{
		"newer":                   {login(1, 1000, ""), []store.Orphan{{Data: []byte(login(2, 2000, ""))}}, "a2"},
		"of the same account":     {login(1, 1000, owner+`,"x":1`), []store.Orphan{{Data: []byte(login(2, 2000, owner))}}, "a2"},
		"of another account":      {login(1, 1000, owner), []store.Orphan{{Data: []byte(login(2, 2000, other))}}, ""},
		"of another organization": {login(1, 1000, inOrg), []store.Orphan{{Data: []byte(login(2, 2000, inOther))}}, ""},
		"organization unknown":    {login(1, 1000, inOrg), []store.Orphan{{Data: []byte(login(2, 2000, owner))}}, "a2"},
		"account unknown there":   {login(1, 1000, owner), []store.Orphan{{Data: []byte(login(2, 2000, ""))}}, ""},
		"account unknown here":    {login(1, 1000, ""), []store.Orphan{{Data: []byte(login(2, 2000, owner))}}, ""},
		"other members differ":    {login(1, 1000, `,"x":1`), []store.Orphan{{Data: []byte(login(2, 2000, `,"x":2`))}}, ""},
		"other white space":       {strings.ReplaceAll(login(1, 1000, ""), ",", ",\n"), []store.Orphan{{Data: []byte(login(2, 2000, ""))}}, "a2"},
		"byte-order mark":         {"\ufeff" + login(1, 1000, ""), []store.Orphan{{Data: []byte(login(2, 2000, ""))}}, "a2"},
		"older":                   {login(1, 1000, ""), []store.Orphan{{Data: []byte(login(2, 999, "")), Newer: true}}, ""},
		"as old, written later":   {login(1, 1000, ""), []store.Orphan{{Data: []byte(login(2, 1000, "")), Newer: true}}, "a2"},
		"as old, written earlier": {login(1, 1000, ""), []store.Orphan{{Data: []byte(login(2, 1000, ""))}}, ""},
		"the same":                {login(1, 1000, ""), []store.Orphan{{Data: []byte(login(1, 1000, "")), Newer: true}}, ""},
		"not rotated":             {login(1, 1000, ""), []store.Orphan{{Data: []byte(strings.Replace(login(2, 2000, ""), "r2", "r1", 1))}}, ""},
		"truncated":               {login(1, 1000, ""), []store.Orphan{{Data: []byte(login(2, 2000, "")[:60]), Newer: true}}, ""},
		"empty":                   {login(1, 1000, ""), []store.Orphan{{Newer: true}}, ""},
		"a setup token":           {login(1, 1000, owner), []store.Orphan{{Data: []byte(setup(`"shuntCredentialKind":"setup_token"`))}}, ""},
		"of a setup token": {
			strings.Replace(setup(`"shuntCredentialKind":"setup_token"`), "2000", "1000", 1),
			[]store.Orphan{{Data: []byte(login(3, 3000, owner))}},
			"",
		},
		"the newest of several": {login(1, 1000, ""), []store.Orphan{
			{Data: []byte(login(2, 2000, ""))}, {Data: []byte(login(4, 4000, ""))}, {Data: []byte(login(3, 3000, ""))}, {Data: []byte("x")},
		}, "a4"},
		"the last of two as old": {login(1, 1000, ""), []store.Orphan{
			{Data: []byte(login(2, 2000, ""))}, {Data: []byte(login(3, 2000, ""))},
		}, "a3"},
	} {
		d, err := parse(claude.Family.Credentials, []byte(c.file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, ok := d.successorIn(c.orphans)
		if ok != (c.wants != "") || ok && got.Access.Reveal() != c.wants {
			t.Errorf("%s: %q, %v, want %q", name, got.Access.Reveal(), ok, c.wants)
		}
	}
}
