package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// badEnv is the environment of testdata/*.bad.toml. Values that no message may contain have "hush" in them.
var badEnv = []string{
	"HOME=/home/u", "HUSH=hush", "EMPTY= ", "TWO_LINES=hush-hush-hush-hush-hush-hush\nhush",
	"LONG=hush-hush-hush-hush-hush-hush-hush", "PAIRS=ann:hush-1-hush-hush, bob:hush-2-hush-hush", "SHORT=ann:hush-hush-hush-1,bob:hush-hush-hush", "TWICE=ann:hush-1,bob:hush-2,ann:hush-3", "NO_PAIR=ann:hush,hush",
	"PAIRS_FILE=testdata/pairs.txt",
}

// CFG-2, CFG-40 to CFG-42: each file leads to all the messages in the file beside it, in the order of its lines.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.toml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".bad.toml")
		t.Run(name, func(t *testing.T) {
			env := badEnv
			if name == "no-home" {
				env = nil
			}
			config, warnings, err := Load(Options{Families: claude, Path: file, Env: env})
			if err == nil || config != nil || warnings != nil {
				t.Fatalf("Load = %v, %v, %v; want only an error", config, warnings, err)
			}
			if strings.Contains(strings.ReplaceAll(err.Error(), "HUSH", ""), "hush") {
				t.Errorf("CFG-4, CFG-5: a secret shows:\n%v", err)
			}
			compare(t, strings.TrimSuffix(file, ".toml")+".want", []byte(err.Error()+"\n"))
		})
	}
}
