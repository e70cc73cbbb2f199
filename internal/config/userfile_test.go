package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TOK-7f, TOK-8b: a file of admin tokens may begin with a byte-order mark; if others can access it, there is a warning that names
// the command to prevent that.
func TestTokensFile(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("\ufeffalice:a-secret-of-alice\r\nbob:another-secret-of-bob\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := write(t, "[server.admin]\ntokens_file = '"+tokens+"'")
	at := file + ":2: server.admin.tokens_file: "
	for _, c := range []struct {
		file, dir os.FileMode
		warnings  []string
	}{
		{0o600, 0o700, nil},
		{0o644, 0o700, []string{at + "others can read or write " + tokens + ", which holds secrets: `chmod 600 " + tokens + "`"}},
		{0o600, 0o770, []string{at + "others can write to the directory " + dir + ", and so replace the secrets in it: `chmod go-w " + dir + "`"}},
	} {
		if err := os.Chmod(tokens, c.file); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, c.dir); err != nil {
			t.Fatal(err)
		}
		config, warnings, err := Load(Options{Families: claude, Path: file})
		if err != nil {
			t.Fatal(err)
		}
		var names, texts []string
		for _, token := range config.Server.Admin.Tokens {
			names = append(names, token.Name)
		}
		if !slices.Equal(names, []string{"alice", "bob"}) {
			t.Errorf("%o in %o: tokens of %q", c.file, c.dir, names)
		}
		for _, w := range warnings {
			texts = append(texts, w.String())
		}
		if !slices.Equal(texts, c.warnings) {
			t.Errorf("%o in %o: warnings %q, want %q", c.file, c.dir, texts, c.warnings)
		}
	}
}
