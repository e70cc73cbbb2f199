package family_test

import (
	"testing"
	"time"

	"shunt/internal/family"
)

// A family changes a rule, or only its cooldown, and leaves the standard rules as they are.
func TestRulesWith(t *testing.T) {
	standard := family.Standard
	changed := family.Standard.
		WithCooldown(family.Overloaded, family.Fixed(time.Minute)).
		With(family.ServerError, family.Rule{Then: family.Relay})
	want := standard[family.Overloaded]
	want.Cooldown = family.Cooldown{Otherwise: time.Minute}
	for class := range family.Class(family.Classes) {
		expected := standard[class]
		switch class {
		case family.Overloaded:
			expected = want
		case family.ServerError:
			expected = family.Rule{}
		}
		if changed[class] != expected {
			t.Errorf("%v: %+v, want %+v", class, changed[class], expected)
		}
	}
	if family.Standard != standard {
		t.Error("the standard rules have changed")
	}
}
