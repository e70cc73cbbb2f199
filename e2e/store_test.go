package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"shunt/internal/sim"
)

// credentials holds the fields of an account's file that the tests check.
type credentials struct {
	OAuth struct {
		AccessToken      string `json:"accessToken"`
		RefreshToken     string `json:"refreshToken"`
		ExpiresAt        int64  `json:"expiresAt"`
		SubscriptionType string `json:"subscriptionType"`
	} `json:"claudeAiOauth"`
	UUID     string          `json:"shuntAccountUuid"`
	PlugIns  json.RawMessage `json:"mcpOAuth"`
	Whatever string          `json:"organizationUuid"`
}

// store is a directory of accounts.
type store string

// newStore creates a store with the named accounts of the provider.
func newStore(t *testing.T, p *provider, names ...string) store {
	t.Helper()
	s := store(filepath.Join(t.TempDir(), "accounts"))
	for _, name := range names {
		s.put(t, p, name, nil)
	}
	return s
}

// put adds an account as a copy of Claude Code's credentials, with an optional change to the claudeAiOauth object.
func (s store) put(t *testing.T, p *provider, name string, change func(oauth map[string]any)) {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(p.Credentials(name), &document); err != nil {
		t.Fatal(err)
	}
	document["shuntAccountUuid"] = p.UUID(name)
	if change != nil {
		change(document["claudeAiOauth"].(map[string]any))
	}
	content, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.file(name), content)
}

func (s store) file(name string) string { return filepath.Join(string(s), name+".json") }

func readCredentials(t *testing.T, content []byte) (c credentials) {
	t.Helper()
	if err := json.Unmarshal(content, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// subscriptions returns accounts whose windows are large enough for a test.
func subscriptions(names ...string) (list []sim.Account) {
	for _, name := range names {
		list = append(list, sim.Account{Name: name})
	}
	return list
}
