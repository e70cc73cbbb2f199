package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed says which packages of ours a package may import besides the leaves, so that dependencies run in one direction.
// The design gives the reason for each.
var allowed = map[string]string{
	"identity": "", "secret": "", "clock": "", "hosts": "", "userfile": "", "wire": "", // leaves: everyone may import them
	"http1": "", "quota": "", "config": "", "oauth": "", "observe": "",
	"store":    "quota",
	"pool":     "quota",
	"account":  "oauth store observe",
	"relay":    "dialect",
	"upstream": "dialect family http1 quota pool account relay observe",
	"gateway":  "dialect config upstream relay observe",
	"usage":    "family quota pool account observe",
	"sim":      "dialect/messages quota pool observe",
	"app":      "dialect family family/claude dialect/messages quota config store pool oauth account relay upstream gateway usage admin observe sim",
	"admin":    "dialect/messages config quota pool account oauth observe",
	"cli":      "app admin config account oauth observe sim simulate",

	"family":              "dialect quota pool oauth",
	"family/claude":       "family dialect dialect/messages quota pool oauth",
	"dialect":             "",
	"dialect/messages":    "dialect",
	"dialect/dialecttest": "dialect wire/wiretest",
	"wire/wiretest":       "",
	"store/storetest":     "store",
	"simulate":            "quota pool observe",
}

var leaves = []string{"identity", "secret", "clock", "hosts", "userfile", "wire"}

// TestImports holds the imports of the code, not of its tests, against the design.
func TestImports(t *testing.T) {
	listing, err := exec.Command("go", "list", "-json=ImportPath,Imports", "shunt/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for decoder := json.NewDecoder(strings.NewReader(string(listing))); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name, internal := strings.CutPrefix(pkg.ImportPath, "shunt/internal/")
		if !internal {
			continue
		}
		seen++
		list, known := allowed[name]
		if !known {
			t.Errorf("package %s is not in the design: add it there and here", name)
		}
		may := append(strings.Fields(list), leaves...)
		for _, path := range pkg.Imports {
			if imported, ours := strings.CutPrefix(path, "shunt/internal/"); ours && !slices.Contains(may, imported) {
				t.Errorf("%s imports %s: it may import %v", name, imported, may)
			}
		}
	}
	if seen < len(allowed) {
		t.Errorf("%d packages found, %d in the design", seen, len(allowed))
	}
}
