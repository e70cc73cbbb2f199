package config_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"shunt/internal/app"
	"shunt/internal/config"
)

// The reference in docs/ documents the keys that shunt has, with those of the families that it knows.
func TestReference(t *testing.T) {
	var got bytes.Buffer
	if err := config.WriteReference(&got, app.Families()); err != nil {
		t.Fatal(err)
	}
	config.Compare(t, filepath.Join("..", "..", "docs", "configuration.md"), got.Bytes())
}
