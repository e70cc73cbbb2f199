package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// The binary reports the tag or commit that it was built from.
func TestVersionComesFromTheBuild(t *testing.T) {
	out, err := exec.Command(shuntPath, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "shunt v") {
		t.Errorf("shunt version: %q, %v", out, err)
	}
}
