package userfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shunt/internal/userfile"
)

// TOK-7f: one byte-order mark is skipped, at the start only, and UTF-16 is an error with a reason.
func TestText(t *testing.T) {
	for content, want := range map[string]string{
		"": "", "{}": "{}", "\ufeff{}": "{}", "\ufeff": "", "\ufeff\ufeff{}": "\ufeff{}", "{\ufeff}": "{\ufeff}", "\xef\xbb": "\xef\xbb",
	} {
		if text, err := userfile.Text([]byte(content)); err != nil || string(text) != want {
			t.Errorf("%q: %q, %v", content, text, err)
		}
	}
	for _, content := range []string{"\xff\xfe{\x00}\x00", "\xfe\xff\x00{\x00}", "\xff\xfe"} {
		if text, err := userfile.Text([]byte(content)); err == nil || err.Error() != "is UTF-16 text; save it as UTF-8" {
			t.Errorf("%q: %q, %v", content, text, err)
		}
	}
}

// TOK-8b: each mode that gives others access is reported once, with the command that fixes it; for a link also that of its target.
func TestExposures(t *testing.T) {
	const (
		file      = "others can read or write FILE, which holds secrets: `chmod 600 FILE`"
		directory = "others can write to the directory DIR, and so replace the secrets in it: `chmod go-w DIR`"
	)
	for _, c := range []struct {
		file, dir os.FileMode
		wants     []string
	}{
		{0o600, 0o700, nil},
		{0o700, 0o755, nil},
		{0o640, 0o755, []string{file}},
		{0o604, 0o755, []string{file}},
		{0o602, 0o755, []string{file}},
		{0o600, 0o775, []string{directory}},
		{0o600, 0o707, []string{directory}},
		{0o644, 0o777, []string{file, directory}},
		{0o600, 0o777 | os.ModeSticky, nil},
	} {
		dir, links := filepath.Join(t.TempDir(), "dir"), t.TempDir()
		path, link := filepath.Join(dir, "a.json"), filepath.Join(links, "link")
		for _, err := range []error{
			os.Mkdir(dir, 0o700), os.WriteFile(path, nil, 0o600), os.Chmod(path, c.file), os.Chmod(dir, c.dir), os.Symlink(path, link),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, through := range []string{path, link} {
			var wants []string
			for _, text := range c.wants {
				wants = append(wants, strings.NewReplacer("FILE", through, "DIR", dir).Replace(text))
			}
			if got := texts(through); !slices.Equal(got, wants) {
				t.Errorf("%o in %o: %q, want %q", c.file, c.dir, got, wants)
			}
		}
		if err := os.Chmod(links, 0o777); err != nil {
			t.Fatal(err)
		}
		if got := texts(link); len(got) != len(c.wants)+1 {
			t.Errorf("%o in %o, with links in a directory that others can write to: %q", c.file, c.dir, got)
		}
	}
	if got := texts(filepath.Join(t.TempDir(), "none")); len(got) != 0 {
		t.Errorf("of no file: %q", got)
	}
}

func texts(path string) (texts []string) {
	for _, e := range userfile.Exposures(path) {
		texts = append(texts, e.String())
	}
	return texts
}

// TOK-8b: the command can be pasted into a shell whatever the path.
func TestExposureCommand(t *testing.T) {
	for path, word := range map[string]string{
		"/a/b-c_1.json": "/a/b-c_1.json", "/it's mine": `'/it'\''s mine'`, "/$(x)": "'/$(x)'", "/é": "'/é'",
	} {
		text := userfile.Exposure{Path: path}.String()
		if command := "`chmod 600 " + word + "`"; !strings.HasSuffix(text, command) {
			t.Errorf("%s, want it to end with %s", text, command)
		}
	}
}

// ACC-3: the home directory in an environment.
func TestGetenv(t *testing.T) {
	getenv := userfile.Getenv([]string{"A=1", "AB=2", "A=3=4", "HOME=/home/x", "B"})
	for name, want := range map[string]string{"A": "3=4", "AB": "2", "B": "", "C": "", "": ""} {
		if got := getenv(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if home, err := userfile.Home(getenv); err != nil || home != "/home/x" {
		t.Errorf("home %q, %v", home, err)
	}
	if home, err := userfile.Home(userfile.Getenv(nil)); err != nil || home == "" {
		t.Errorf("home without a variable: %q, %v", home, err)
	}
}
