package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error says why a file cannot be read, and how large it may be.
func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop.toml")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none.toml"): "does not exist",
		dir:                             "is a directory; name a file",
		loop:                            "cannot be read: too many levels of symbolic links",
		os.DevNull:                      "is not a regular file",
		write(t, strings.Repeat("#\n", maxFile/2)+"#"): "is larger than 1048576 bytes",
	} {
		_, _, err := Load(Options{Families: claude, Path: file})
		if got := err.Error(); got != file+": "+want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, _, err := Load(Options{Families: claude, Path: write(t, strings.Repeat("#\n", maxFile/2))}); err != nil {
		t.Errorf("the largest file: %v", err)
	}
}

// CFG-1: Find returns the named file, or the first of the usual places, or nothing.
func TestFind(t *testing.T) {
	home, xdg := t.TempDir(), t.TempDir()
	t.Chdir(t.TempDir())
	env := []string{"HOME=" + home}
	find := func(path string, env ...string) string {
		t.Helper()
		found, err := Find(path, env)
		if err != nil {
			return err.Error()
		}
		return found
	}
	expect := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	create := func(file string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	last := "" // unless shunt is installed on this machine
	if _, err := os.Stat("/etc/shunt/shunt.toml"); err == nil {
		last = "/etc/shunt/shunt.toml"
	}

	expect(find("", env...), last)
	expect(find(""), last)
	expect(find("other.toml", env...), "other.toml: does not exist")

	inHome := create(filepath.Join(home, ".config", "shunt", "shunt.toml"))
	expect(find("", env...), inHome)
	expect(find("", "HOME="+home, "XDG_CONFIG_HOME=relative"), inHome)
	expect(find("", "HOME="+home, "XDG_CONFIG_HOME="+xdg), last)
	inXDG := create(filepath.Join(xdg, "shunt", "shunt.toml"))
	expect(find("", "HOME="+home, "XDG_CONFIG_HOME="+xdg), inXDG)
	create("shunt.toml")
	expect(find("", "HOME="+home, "XDG_CONFIG_HOME="+xdg), "./shunt.toml")
	create("other.toml")
	expect(find("other.toml", env...), "other.toml")
}
