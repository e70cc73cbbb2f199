package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"shunt/internal/account"
	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/oauth"
)

// acme is a family without setup tokens and without a program whose login can be copied.
var acme = family.Family{
	Name: "acme", Title: "Acme", Kind: "anthropic", Auth: "acme_oauth", Hosts: []string{"acme.example"}, Credentials: claude.Family.Credentials,
	Vendor: oauth.Vendor{AuthorizeURL: "https://acme.example/authorize", ManualRedirect: "https://acme.example/code", TokenURL: "https://acme.example/token"},
}

// LOG-1: each family has a subcommand with the modes that it offers. One without any has none.
func TestLoginFamilies(t *testing.T) {
	var out strings.Builder
	command := struct {
		Login loginCommand `cmd:""`
	}{newLoginCommand([]*family.Family{&claude.Family, &acme, {Name: "token-only"}})}
	parser, err := kong.New(&command, kong.Writers(&out, &out), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	for args, problem := range map[string]string{
		"login claude --name x --mode setup-token": "",
		"login acme --name x":                      "",
		"login acme --name x --mode oauth":         "",
		"login acme --name x --manual":             "",
		"login acme --name x --mode import":        `--mode must be one of "oauth" but got "import"`,
		"login acme --name x --mode setup-token":   `--mode must be one of "oauth" but got "setup-token"`,
		"login acme --name x --mode=":              "",
		"login claude --name x --mode x":           `--mode must be one of "oauth","import","setup-token" but got "x"`,
		"login acme --name x --long-lived":         "Acme has no setup tokens",
		"login token-only --name x":                "unexpected argument token-only",
	} {
		context, err := parser.Parse(strings.Fields(args))
		switch {
		case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
			t.Errorf("%s: %v, want %s", args, err, problem)
		case problem == "" && err != nil:
			t.Errorf("%s: %v", args, err)
		case problem == "" && context.Selected().Target.Addr().Interface().(*familyLoginCommand).family.Name != strings.Fields(args)[1]:
			t.Errorf("%s selects another family", args)
		}
	}
	_, _ = parser.Parse([]string{"login", "acme", "--help"})
	if !strings.Contains(out.String(), "log in to Acme in the browser.") || !strings.Contains(out.String(), "Default: oauth.") {
		t.Error(out.String())
	}
}

// LOG-1: a family that offers one mode needs neither --mode nor a prompt.
func TestOnlyMode(t *testing.T) {
	mode, err := (&login{family: &acme}).mode(t.Context(), &familyLoginCommand{Name: "x"})
	if mode != modeOAuth || err != nil {
		t.Errorf("%q, %v", mode, err)
	}
}

// FAM-6: with several families, the list shows the family, and a name that two families have needs it.
func TestAccountsOfFamilies(t *testing.T) {
	dir := t.TempDir()
	var stores []familyStore
	for family, names := range map[string][]string{"claude": {"both", "c"}, "acme": {"both", "a"}} {
		store := account.OpenStore(filepath.Join(dir, family), acme.Credentials)
		if err := os.Mkdir(store.Dir(), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.WriteFile(store.Path(name), []byte(`{"claudeAiOauth":{"accessToken":"x"}}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		stores = append(stores, familyStore{Store: store, family: family, login: family + "2"})
	}
	for _, c := range []struct{ name, removed, problem string }{
		{"both", "", "several families have an account both: write "},
		{"acme/both", "acme/both.json", ""},
		{"both", "claude/both.json", ""},
		{"a", "acme/a.json", ""},
		{"claude2/c", "claude/c.json", ""},
		{"nobody/c", "", "a name has only"},
		{"none", "", "the account store has no such entry: none"},
	} {
		path, err := removeAccount(t.Context(), stores, c.name)
		if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) || c.problem == "" && (err != nil || path != filepath.Join(dir, c.removed)) {
			t.Errorf("%s: %s, %v", c.name, path, err)
		}
	}
	var table strings.Builder
	if err := writeEntries(&table, []storedAccount{{account.Entry{Name: "c"}, "claude"}}, true, time.Now()); err != nil {
		t.Fatal(err)
	}
	if want := "FAMILY  NAME  KIND   EXPIRES  ACCOUNT\nclaude  c     login  unknown  unknown\n"; table.String() != want {
		t.Errorf("%q", table.String())
	}
}
