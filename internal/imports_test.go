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

// leaves may be imported by every package, and import none of ours.
const leaves = "identity secret clock hosts userfile version wire"

// allowed lists, package by package, which others of ours it imports besides the leaves, so that dependencies run in one
// direction. The design gives the reason for each.
const allowed = `
account: oauth observe store
admin: account config oauth observe pool quota
app: account admin config dialect dialect/chat dialect/messages dialect/responses family family/chatgpt family/claude family/keyed family/kimi gateway oauth observe pool quota store upstream usage
apptest: app config family sim sim/simtest
cli: account admin app config demo family oauth observe simulate
config: config/schema
config/schema:
demo: app config family/claude observe sim
dialect/chat: dialect
dialect/dialecttest: dialect wire/wiretest
dialect/gemini: dialect
dialect/messages: dialect
dialect/responses: dialect
dialect:
family/chatgpt: dialect dialect/responses family oauth quota
family/claude: dialect dialect/messages family oauth quota
family/kimi: dialect/messages family oauth pool quota
family/keyed: dialect/chat dialect/gemini dialect/responses family
family: dialect oauth pool quota
gateway: config dialect observe tokens upstream
http1:
oauth:
observe/observetest:
observe:
pool: quota
quota:
relay: dialect
sim: dialect/messages sim/engine sim/render sim/script
sim/chatgpt: sim/engine sim/render sim/script
sim/engine: sim/script
sim/enginetest: sim
sim/keyed: sim/engine sim/render sim/script
sim/kimi: sim/engine sim/render sim/script
sim/render: sim/engine sim/script
sim/script:
sim/simtest: family/claude observe observe/observetest pool quota sim store
simulate: family/claude observe pool quota
store/storetest: store
store:
tokens: dialect
upstream: account dialect family http1 observe pool quota relay
usage: account family observe pool quota
wire/wiretest:
`

// TestImports compares the imports of the code, not of its tests, with the design: every import is allowed, and what is
// allowed is used.
func TestImports(t *testing.T) {
	want := map[string][]string{}
	for _, leaf := range strings.Fields(leaves) {
		want[leaf] = nil
	}
	for line := range strings.Lines(strings.TrimSpace(allowed)) {
		name, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		want[name] = strings.Fields(imports)
	}
	got := importsOfOurs(t)
	for name, imports := range got {
		permitted, known := want[name]
		if !known {
			t.Errorf("package %s is not in the design: add it there and here", name)
			continue
		}
		for _, imported := range imports {
			if !slices.Contains(permitted, imported) {
				t.Errorf("%s imports %s: it may import %v", name, imported, permitted)
			}
		}
		for _, imported := range permitted {
			if !slices.Contains(imports, imported) {
				t.Errorf("%s may import %s, and does not: remove it here", name, imported)
			}
		}
	}
	for name := range want {
		if _, there := got[name]; !there {
			t.Errorf("there is no package %s: remove it here", name)
		}
	}
}

// importsOfOurs returns what each internal package imports of the others, without the leaves.
func importsOfOurs(t *testing.T) map[string][]string {
	listing, err := exec.Command("go", "list", "-json=ImportPath,Imports", "shunt/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
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
		found[name] = nil
		for _, path := range pkg.Imports {
			imported, ours := strings.CutPrefix(path, "shunt/internal/")
			if ours && !slices.Contains(strings.Fields(leaves), imported) {
				found[name] = append(found[name], imported)
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("go list found no package of ours")
	}
	return found
}
