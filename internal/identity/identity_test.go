package identity_test

import (
	"testing"

	"shunt/internal/identity"
)

// ID-1: different accounts never share a text form, and so never a sticky weight or a state.
func TestKeysAreDistinct(t *testing.T) {
	keys := []identity.Key{
		{},
		identity.OfAccount("a", ""),
		identity.OfAccount("a", "org"),
		identity.OfAccount("org", "a"),
		identity.OfStoreEntry("a"),
		identity.OfInline("", "a"),
		identity.OfInline("up", "a"),
	}
	seen := map[string]identity.Key{}
	for _, k := range keys {
		if other, dup := seen[k.String()]; dup {
			t.Errorf("%#v and %#v share %q", k, other, k.String())
		}
		seen[k.String()] = k
	}
	if !keys[0].IsZero() || keys[1].IsZero() {
		t.Error("only the zero Key is zero")
	}
}
