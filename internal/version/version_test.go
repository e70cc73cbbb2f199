package version_test

import (
	"testing"

	"shunt/internal/version"
)

// A build always has a version to show, even one that no module version is known of.
func TestString(t *testing.T) {
	if v := version.String(); v == "" || v != version.String() {
		t.Errorf("%q", v)
	}
}
