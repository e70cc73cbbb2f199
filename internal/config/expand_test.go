package config

import (
	"os"
	"path/filepath"
	"testing"
)

// CFG-4: what references become.
func TestExpand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("\n from file ${A}\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	marked := filepath.Join(t.TempDir(), "marked") // TOK-7f
	if err := os.WriteFile(marked, []byte("\ufeff secret\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"A": "one", "_b2": "${A}", "EMPTY": ""}
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain $ {A} $A $}", "plain $ {A} $A $}"},
		{"${A}", "one"},
		{"x${A}y${A}z", "xoneyonez"},
		{"${_b2}", "${A}"},
		{"[${EMPTY}]", "[]"},
		{"$${A}", "${A}"},
		{"$${A} ${A}", "${A} one"},
		{"$$${A}", "$${A}"},
		{"$${", "${"},
		{"${file:" + file + "}", "from file ${A}"},
		{"${file:" + marked + "}", "secret"},
		{"$${file:" + file + "}", "${file:" + file + "}"},
	} {
		if got, err := expand(c.text, env); err != nil || got != c.want {
			t.Errorf("expand(%q) = %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}

// CFG-4: references are resolved anew at each load.
func TestReferencesAreReread(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "level")
	file := write(t, "[log]\nlevel = '${file:"+secret+"}'")
	for _, level := range []string{"DEBUG", "ERROR"} {
		content := map[string]string{"DEBUG": "debug\n", "ERROR": "error\n"}[level]
		if err := os.WriteFile(secret, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		config, _, err := Load(Options{Path: file})
		if err != nil || config.Log.Level.String() != level {
			t.Errorf("level = %v, %v; want %s", config, err, level)
		}
	}
}
