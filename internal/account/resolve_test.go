package account_test

import (
	"fmt"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/identity"
)

type sets map[string][]account.Spec

// listings returns the listings of sets of Claude accounts.
func listings(s sets) map[string]account.Listing {
	all := map[string]account.Listing{}
	for provider, specs := range s {
		all[provider] = account.Listing{Family: "claude", Specs: specs}
	}
	return all
}

// described returns the accounts of a provider as "name kind:qualifier:name uuid".
func described(accounts []*account.Account) []string {
	list := []string{}
	for _, a := range accounts {
		kind := map[identity.Kind]string{identity.Verified: "account", identity.StoreEntry: "store", identity.Inline: "inline"}[a.Key().Kind()]
		list = append(list, fmt.Sprintf("%s %s:%s:%s %s", a.Name(), kind, a.Key().Qualifier(), a.Key().Name(), a.UUID()))
	}
	return list
}

func (w *world) owned(name, uuid, organization string) {
	w.Helper()
	w.write(name+".json", fmt.Sprintf(`{"claudeAiOauth":{"accessToken":"tok-%s","refreshToken":"tok-r-%s","expiresAt":%s},`+
		`"shuntAccountUuid":%q,"shuntOrganizationUuid":%q}`, name, name, millis(time.Hour), uuid, organization))
}

// resolve requires these accounts of provider p and these warnings.
func (w *world) resolve(what string, s sets, accounts []string, warnings ...string) []*account.Account {
	w.Helper()
	got, texts := w.keeper.Resolve(listings(s))
	w.wants(what+": accounts", described(got["p"]), accounts)
	w.wants(what+": warnings", texts, warnings)
	return got["p"]
}

// ACC-3, ACC-4, TOK-7e: the whole store is every usable file with a valid name, in order; there is one warning for each version
// of every other.
func TestWholeStore(t *testing.T) {
	in(t, func(w *world) {
		w.resolve("empty", sets{"p": nil}, []string{})
		w.owned("b", "", "")
		w.owned("a-1", "", "")
		w.owned("a", "u-1", "")
		w.write("plugin.json", `{"mcpOAuth":{"x":{"accessToken":"tok-plugin","refreshToken":"tok-plugin"}}}`)
		w.write("void.json", " \n")
		w.write("cut.json", `{"claudeAiOauth":{"accessToken":"tok-`)
		w.write("Capital.json", w.read("a.json"))
		w.write("readme.txt", "x")
		want := []string{"a-1 store::a-1 ", "a account::u-1 u-1", "b store::b "}
		w.resolve("all", sets{"p": nil}, want,
			"skipped in the account store: Capital.json: a name has only a-z, 0-9 and -",
			"skipped in the account store: /store/cut.json: the file is not valid JSON (truncated?)",
			"skipped in the account store: /store/plugin.json: the file has no claudeAiOauth login",
			"skipped in the account store: /store/void.json: the file is empty")
		w.resolve("again", sets{"p": nil}, want)
		w.write("void.json", "\n\n")
		w.resolve("another version", sets{"p": nil}, want, "skipped in the account store: /store/void.json: the file is empty")
		w.resolve("two providers", sets{"p": nil, "q": nil}, want)
		w.close()
	})
}

// ID-1: the UUID of the configuration, else of the credential, else the store entry, else the provider and the name.
func TestIdentity(t *testing.T) {
	in(t, func(w *world) {
		w.owned("known", "u-1", "")
		w.owned("blank", "  ", "")
		w.env["TOKEN"] = "tok-env"
		w.resolve("all", sets{"p": {
			{Name: "known"},
			{Name: "blank"},
			{Name: "missing"},
			{Name: "told", TokenEnv: "TOKEN", UUID: "u-2"},
			{Name: "env", TokenEnv: "TOKEN"},
			{Name: "inline", Credentials: storeDir + "/blank.json"},
			{Name: "unset", TokenEnv: "NOTHING"},
		}}, []string{
			"known account::u-1 u-1",
			"blank store::blank ",
			"missing store::missing ",
			"told account::u-2 u-2",
			"env inline:p:env ",
			"inline inline:p:inline ",
			"unset inline:p:unset ",
		},
			"account p/missing has no credential: cannot find the file /store/missing.json",
			"account p/unset has no credential: the variable NOTHING is not set",
			"the accounts p/blank and p/inline have the same login, in /store/blank.json, but count as different accounts: list it once, or set the same uuid in both")
		w.resolve("the configuration's counts", sets{"p": {{Name: "known", UUID: "u-9"}}}, []string{"known account::u-9 u-9"})
		w.close()
	})
}

// WIRE-6, CFG-40: a value without the form of a UUID reaches neither a request nor an identity.
func TestIllFormedUUID(t *testing.T) {
	in(t, func(w *world) {
		w.owned("a", `x","y`, "")
		w.resolve("all", sets{"p": nil}, []string{"a store::a "}, "/store/a.json: the UUID of the account does not have the form of a UUID and is ignored")
		w.resolve("again", sets{"p": nil}, []string{"a store::a "})
		w.close()
	})
}

// ID-1b: the organization counts only if one UUID is in use in two, even if in an unused file.
func TestOrganizations(t *testing.T) {
	in(t, func(w *world) {
		w.owned("a", "u-1", "o-1")
		w.owned("b", "u-1", "")
		both := sets{"p": {{Name: "a"}, {Name: "b"}}}
		w.resolve("one organization", both, []string{"a account::u-1 u-1", "b account::u-1 u-1"},
			"the entries a and b of the account store are the same account and count as one")
		w.owned("unused", "u-1", "o-2")
		w.resolve("two", both, []string{"a account:o-1:u-1 u-1", "b store::b u-1"},
			"account p/b: its account UUID is in use in two organizations, and its own organization is unknown, "+
				"so it counts as another account: set organization_uuid")
		w.resolve("told by the configuration", sets{"p": {{Name: "a"}, {Name: "b", OrganizationUUID: "o-2"}}},
			[]string{"a account:o-1:u-1 u-1", "b account:o-2:u-1 u-1"})
		if err := w.disk.open(storeDir).Remove(w.Context(), "unused.json"); err != nil {
			w.Fatal(err)
		}
		w.resolve("one again", both, []string{"a account::u-1 u-1", "b account::u-1 u-1"})
		w.close()
	})
}

// ID-3, CFG-45: entries of one pool that are one account are named, once for each set of them.
func TestAliases(t *testing.T) {
	in(t, func(w *world) {
		w.owned("a", "u-1", "")
		w.owned("b", "u-1", "")
		w.owned("c", "u-2", "")
		same := []string{"a account::u-1 u-1", "b account::u-1 u-1", "c account::u-2 u-2"}
		w.resolve("store", sets{"p": nil, "q": nil}, same, "the entries a and b of the account store are the same account and count as one")
		w.resolve("again", sets{"p": nil}, same)
		w.owned("c", "u-1", "")
		same[2] = "c account::u-1 u-1"
		w.resolve("another set", sets{"p": nil}, same, "the entries a and b and c of the account store are the same account and count as one")
		w.resolve("configured", sets{"p": {{Name: "c"}, {Name: "x", Credentials: storeDir + "/a.json"}}},
			[]string{"c account::u-1 u-1", "x account::u-1 u-1"}, "the entries c and x of p are the same account and count as one")
		w.resolve("in two pools", sets{"p": {{Name: "a"}}, "q": {{Name: "a"}}}, same[:1])
		w.close()
	})
}

// ID-1, CFG-51: a reload keeps the state of a credential, whichever entries use it, and drops unused ones.
func TestResolveAgain(t *testing.T) {
	in(t, func(w *world) {
		w.login("a", time.Hour)
		a := w.account()
		a.MarkNeedsLogin(w.secret("tok-oat-a#1"), "x")
		w.conditions("account claude/a needs login")
		again := w.resolve("renamed pool", sets{"p": {{Name: "a"}}}, []string{"a store::a "})
		_, marked := again[0].NeedsLogin()
		w.wants("marked", marked, true)
		w.conditions("account p/a needs login")
		w.resolve("not used", sets{"p": {{Name: "b"}}}, []string{"b store::b "}, "account p/b has no credential: cannot find the file /store/b.json")
		w.conditions()
		again = w.resolve("used again", sets{"p": {{Name: "a"}}}, []string{"a store::a "})
		w.wants("token", w.token(again[0]), "tok-oat-a#1")
		w.close()
	})
}

// ACC-2: a reload takes the variable's new value.
func TestVariableChanges(t *testing.T) {
	in(t, func(w *world) {
		s := sets{"p": {{Name: "a", TokenEnv: "TOKEN"}}}
		w.env["TOKEN"] = "tok-1"
		a := w.resolve("first", s, []string{"a inline:p:a "})[0]
		w.resolve("same", s, []string{"a inline:p:a "})
		w.changes()
		a.MarkNeedsLogin(w.secret("tok-1"), "x")
		w.env["TOKEN"] = "tok-2"
		w.resolve("second", s, []string{"a inline:p:a "})
		w.wants("token", w.token(a), "tok-2")
		w.wants("told", len(w.changes()), 1)
		w.conditions()
		w.env["TOKEN"] = "tok-2\nX-Injected: 1"
		w.resolve("illegal", s, []string{"a inline:p:a "}, "account p/a has no credential: the variable TOKEN contains white space or "+
			"characters that are not valid in a token (was it pasted with a line break?)")
		if _, err := a.Token(w.Context()); err == nil {
			w.Error("an illegal token was given out")
		}
		w.close()
	})
}

// A configured entry whose credential is missing gets it without a restart, and OnChange is called.
func TestCredentialAppears(t *testing.T) {
	in(t, func(w *world) {
		a := w.resolve("missing", sets{"p": {{Name: "a"}}}, []string{"a store::a "},
			"account p/a has no credential: cannot find the file /store/a.json")[0]
		w.wants("refreshable", a.Refreshable(), false)
		if _, err := a.Token(w.Context()); err == nil || err.Error() != "account p/a: cannot find the file /store/a.json" {
			w.Errorf("err = %v", err)
		}
		end := w.run()
		w.login("a", time.Hour)
		time.Sleep(time.Second)
		w.wants("token", w.token(a), "tok-oat-a#1")
		w.wants("refreshable", a.Refreshable(), true)
		w.wants("told", w.changes(), []identity.Key{a.Key()})
		end()
		w.close()
	})
}
