package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite what the tests compare with")

// The reference in docs/ says what the schema says.
func TestReference(t *testing.T) {
	var got bytes.Buffer
	if err := WriteReference(&got); err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join("..", "..", "docs", "configuration.md"), got.Bytes())
}

// compare fails if got is not the content of the file, or with -update makes it so.
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

// Every key says what it is for and how it is written, and only those that must be given lack a default.
func TestEveryKeyIsDocumented(t *testing.T) {
	schema.walk("", func(heading string, tab *table) {
		keys := tab.keys
		if tab.free != nil {
			keys = append(keys, *tab.free)
		}
		for _, k := range keys {
			if k.doc == "" || k.expect == "" {
				t.Errorf("%s.%s lacks documentation", heading, k.name)
			}
		}
	})
}
