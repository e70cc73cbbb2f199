package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// two are the family of the other tests and one that shares a window with it.
var two = append(claude[:1:1], Family{
	Name: "acme", Kind: "acme", Auth: "acme_oauth", Hosts: []string{"acme.example"},
	Windows: []Window{{"5h", "five-hour window"}, {"30d", "monthly window"}},
})

const acme = "[providers.acme]\nkind = 'acme'\nbase_url = 'https://api.acme.example'\nauth = 'acme_oauth'\n"

// CFG-10, CFG-12, CFG-41: a family that Options list has a mode of authentication, a protocol, hosts and windows.
func TestFamilies(t *testing.T) {
	file := write(t, acme+"[[providers.acme.accounts]]\nname = 'a'\nthreshold_30d = 0.5\nmax_utilization_5h = 0.75\n[server.pool]\ndefault_threshold_30d = 0.25\n")
	c, _, err := Load(Options{Path: file, Families: two})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Provider("acme")
	if !p.Pool() || p.Family != "acme" {
		t.Errorf("provider %+v", p)
	}
	want := Account{
		Name: "a", Priority: 100,
		Thresholds: Fractions{Windows: map[string]float64{"30d": 0.5}}, MaxUtilization: Fractions{Windows: map[string]float64{"5h": 0.75}},
	}
	if a, ok := p.Account("a"); !ok || cmp.Diff(want, a) != "" {
		t.Errorf("account %+v", a)
	}
	if got := c.Server.Pool.Thresholds; got.Window("30d") == nil || *got.Window("30d") != 0.25 || got.Window("5h") != nil {
		t.Errorf("default thresholds %+v", got)
	}
	if a, listed := p.Account("b"); listed || a.Priority != 100 || a.Disabled {
		t.Errorf("an account that is not listed: %+v", a)
	}
}

// CFG-41: each family's tokens go to its own hosts, in its own protocol.
func TestFamiliesStayApart(t *testing.T) {
	for file, want := range map[string]string{
		strings.Replace(acme, "api.acme.example", "api.anthropic.com", 1): `:3: providers.acme.base_url: must name acme.example, a subdomain of it or a loopback host, because auth = "acme_oauth" sends account credentials there`,
		strings.Replace(acme, "kind = 'acme'\n", "", 1):                   `:1: providers.acme.kind: must be "acme", because auth = "acme_oauth" pools accounts of that kind`,
		strings.Replace(acme, "acme_oauth", "other", 1):                   `:4: providers.acme.auth: must be "passthrough", "api_key", "none", "claude_oauth" or "acme_oauth"`,
	} {
		path := write(t, file)
		_, _, err := Load(Options{Path: path, Families: two})
		if err == nil || strings.TrimPrefix(err.Error(), path) != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// FAM-2: a limit on a window that the account's family does not have is useless.
func TestLimitsOfOtherFamilies(t *testing.T) {
	file := write(t, acme+"[[providers.acme.accounts]]\nname = 'a'\nthreshold_5h = 0.5\nthreshold_7d = 0.5\nmax_utilization_7d = 0.5\nmax_utilization_30d = 0.5\n[server.pool]\ndefault_threshold_7d = 0.25\n")
	_, warnings, err := Load(Options{Path: file, Families: two})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`:8: providers.acme.accounts.threshold_7d: has no effect: accounts of auth = "acme_oauth" have no weekly window; remove it`,
		`:9: providers.acme.accounts.max_utilization_7d: has no effect: accounts of auth = "acme_oauth" have no weekly window; remove it`,
	}
	var got []string
	for _, w := range warnings {
		got = append(got, strings.TrimPrefix(w.String(), file))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The reference documents every family's keys.
func TestReferenceOfFamilies(t *testing.T) {
	var got bytes.Buffer
	if err := WriteReference(&got, two); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**`threshold_30d`**", "The same for the monthly window alone", "`acme_oauth` make the provider a pool", "`~/.shunt/accounts/acme/<name>.json`",
		"The accounts of a pool (`auth = \"claude_oauth\"` or `auth = \"acme_oauth\"`)", "A credentials file, such as that of Claude Code. ",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("the reference lacks %s", want)
		}
	}
	if n := strings.Count(got.String(), "**`threshold_5h`**"); n != 1 {
		t.Errorf("threshold_5h is documented %d times", n)
	}
}
