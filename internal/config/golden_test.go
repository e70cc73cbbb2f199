package config

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files that the tests compare with")

// Compare is compare, for the tests in package config_test.
var Compare = compare

// compare fails if got is not the content of the file; with -update, it writes the file.
func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is out of date (-file +now); go test -update rewrites it:\n%s", file, diff)
	}
}

// Every key is documented.
func TestEveryKeyIsDocumented(t *testing.T) {
	for _, section := range newSchema(claude).Sections() {
		for _, k := range section.Keys {
			if k.Doc == "" || k.Expect == "" {
				t.Errorf("%s %s lacks documentation", section.Heading, k.Name)
			}
		}
	}
}
