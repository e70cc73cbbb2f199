package identity_test

import (
	"testing"

	"shunt/internal/identity"
)

// ID-1: different accounts never share a text form, and so never a sticky weight or a state.
func TestKeysAreDistinct(t *testing.T) {
	keys := []identity.Key{
		{},
		identity.OfAccount("claude", "a", ""),
		identity.OfAccount("claude", "a", "org"),
		identity.OfAccount("claude", "org", "a"),
		identity.OfStoreEntry("claude", "a"),
		identity.OfInline("claude", "", "a"),
		identity.OfInline("claude", "up", "a"),
		identity.OfAccount("kimi", "a", ""),
		identity.OfStoreEntry("kimi", "a"),
	}
	seen := map[string]identity.Key{}
	for _, k := range keys {
		if other, dup := seen[k.String()]; dup {
			t.Errorf("%#v and %#v share %q", k, other, k.String())
		}
		seen[k.String()] = k
	}
	if got := keys[1].In("kimi"); got != keys[7] || keys[1].Family() != "claude" {
		t.Errorf("%#v in another family is %#v", keys[1], got)
	}
	if !keys[0].IsZero() || keys[1].IsZero() {
		t.Error("only the zero Key is zero")
	}
}
