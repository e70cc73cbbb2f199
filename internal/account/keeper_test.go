package account_test

import (
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"shunt/internal/account"
)

// ACC-3: the directory of the store.
func TestStoreDir(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/a/b":                                {"SHUNT_CLAUDE_ACCOUNTS_DIR": "/a/b", "HOME": "/home/x"},
		"/home/x/.shunt/accounts/claude":      {"HOME": "/home/x"},
		homeOf(t) + "/.shunt/accounts/claude": {},
	} {
		got, err := account.StoreDir("claude", func(name string) string { return env[name] })
		if err != nil || got != want {
			t.Errorf("%v: %q, %v; want %q", env, got, err, want)
		}
	}
	if got, err := account.StoreDir("claude", func(string) string { return "relative" }); err != nil || !filepath.IsAbs(got) {
		t.Errorf("relative: %q, %v", got, err)
	}
}

func homeOf(t *testing.T) string {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return me.HomeDir
}

// ACC-2: a keeper works without its optional options.
func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	keeper := account.NewKeeper(account.Options{
		Families: []account.Family{familyOf(forms[0], nil, dir)},
		Getenv:   func(name string) string { return map[string]string{"TOKEN": "tok"}[name] },
	})
	accounts, warnings := keeper.Resolve(listings(sets{"p": {{Name: "a", TokenEnv: "TOKEN"}, {Name: "b"}}}))
	if len(warnings) != 1 || !strings.Contains(warnings[0], dir+"/b.json") {
		t.Errorf("warnings: %q", warnings)
	}
	if token, err := accounts["p"][0].Token(t.Context()); err != nil || token.Reveal() != "tok" {
		t.Errorf("token %q, %v", token.Reveal(), err)
	}
	if err := keeper.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
