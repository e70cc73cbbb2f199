package config

import (
	"os"
	"path/filepath"
	"testing"
)

// CFG-4: references are resolved again at each load.
func TestReferencesAreReread(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "level")
	file := write(t, "[log]\nlevel = '${file:"+secret+"}'")
	for _, level := range []string{"DEBUG", "ERROR"} {
		content := map[string]string{"DEBUG": "debug\n", "ERROR": "error\n"}[level]
		if err := os.WriteFile(secret, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		config, _, err := Load(Options{Families: claude, Path: file})
		if err != nil || config.Log.Level.String() != level {
			t.Errorf("level = %v, %v; want %s", config, err, level)
		}
	}
}
