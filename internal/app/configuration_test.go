package app_test

import (
	"fmt"
	"strings"

	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// singleOf returns a configuration whose default provider has one credential, with more keys as TOML lines.
func singleOf(lines ...string) string {
	return "[providers.anthropic]\nbase_url = \"" + simtest.ProviderURL + "\"\n" + strings.Join(lines, "\n") + "\n"
}

const (
	apiKey      = "auth = \"api_key\"\napi_key_env = \"TEST_KEY\""
	passthrough = "auth = \"passthrough\""
)

// paid is a provider with one paid key.
var paid = sim.Config{Accounts: simtest.WithKey(0)}

// withKey returns a provider with n subscriptions, and the paid key.
func withKey(n int) sim.Config { return sim.Config{Accounts: simtest.WithKey(n)} }

// keyNotInStore keeps the provider's paid key out of the account store, where every other account is.
func keyNotInStore(w *world) { w.Remove("k") }

var positions = []string{"one", "two", "three", "four"}

// chainOf returns a configuration with upstreams named one, two, three ..., in that order. Each is given as the TOML lines
// that say where it is and how it is authenticated. The models of the tests are mapped to all of them.
func chainOf(upstreams ...string) string {
	var toml, targets strings.Builder
	toml.WriteString("[server]\ndefault_provider = \"one\"\n")
	for i, lines := range upstreams {
		fmt.Fprintf(&toml, "[[upstreams]]\nname = %q\nprovider = \"anthropic\"\n%s\n", positions[i], lines)
		fmt.Fprintf(&targets, "%s = \"MODEL\"\n", positions[i])
	}
	for _, model := range []string{simtest.PlainModel, simtest.FableModel} {
		fmt.Fprintf(&toml, "[[models]]\nid = %q\n[models.upstream_model]\n%s", model, strings.ReplaceAll(targets.String(), "MODEL", model))
	}
	return toml.String()
}

// poolAt, keyAt and passAt return the three kinds of upstreams.
func poolAt(base string, accounts ...string) string {
	scope := ""
	if len(accounts) > 0 {
		scope = `, accounts = ["` + strings.Join(accounts, `", "`) + `"]`
	}
	return fmt.Sprintf("base_url = %q\nauth = { mode = \"claude_oauth\"%s }", base, scope)
}

func keyAt(base string) string {
	return fmt.Sprintf("base_url = %q\nauth = { mode = \"api_key\", env = \"TEST_KEY\" }", base)
}

func passAt(base string) string { return fmt.Sprintf("base_url = %q\nauth = \"passthrough\"", base) }

// poolAndKey returns the chain of most users: their subscriptions, and a key for when those are used up.
func poolAndKey(accounts ...string) string {
	return chainOf(poolAt(simtest.ProviderURL, accounts...), keyAt(simtest.ProviderURL))
}
