package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CFG-2, CFG-4: any file leads to either a configuration or problems in its lines, which never show the value of a reference.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.toml")
	if err != nil || len(files) == 0 {
		f.Fatal("no files", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(Starter())
	f.Fuzz(func(t *testing.T, data []byte) {
		const value = "hush-7d1f"
		if strings.Contains(string(data), value) || strings.Contains(string(data), "${file:") {
			return
		}
		env := []string{"HOME=/home/u", "HUSH=" + value, "A=${HUSH}", "SHUNT_LOG__LEVEL=" + value}
		lines := strings.Count(string(data), "\n") + 1
		config, warnings, err := load(Options{Families: claude, Path: "shunt.toml", Env: env}, data)
		if (config == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", config, err)
		}
		problems, _ := err.(Problems)
		for i, p := range append(problems, warnings...) {
			if strings.Contains(p.String(), value) {
				t.Errorf("a value shows: %s", p)
			}
			if p.Line > lines || p.Line < 0 || p.Message == "" {
				t.Errorf("problem %d is nowhere: %+v of %d lines", i, p, lines)
			}
		}
	})
}
