package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"shunt/internal/app"
	"shunt/internal/config"
	"shunt/internal/sim"
)

// documents are those whose examples are checked, in the order in which a newcomer reads them.
var documents = []string{
	"README.md", "docs/guide/accounts.md", "docs/guide/models-and-chains.md", "docs/guide/sharing.md", "docs/guide/operating.md",
}

// readDocument returns a document of the project.
func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// examples returns the fenced blocks of a language in all documents.
func examples(t *testing.T, language string) []string {
	t.Helper()
	fence := regexp.MustCompile("(?ms)^ *```" + language + "\n(.*?)^ *```$")
	var blocks []string
	for _, document := range documents {
		for _, m := range fence.FindAllStringSubmatch(readDocument(t, document), -1) {
			blocks = append(blocks, m[1])
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("no document has an example in %s", language)
	}
	return blocks
}

// The README stays short enough to read at once, and narrow enough for a terminal.
func TestReadmeSize(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(readDocument(t, "README.md"), "\n"), "\n")
	if len(lines) > 150 {
		t.Errorf("README.md has %d lines, and may have 150", len(lines))
	}
	for i, line := range lines {
		if width := utf8.RuneCountInString(line); width > 100 {
			t.Errorf("README.md:%d is %d characters wide, and may be 100", i+1, width)
		}
	}
}

// Every configuration in the documents loads without a warning.
func TestDocumentedConfigurations(t *testing.T) {
	env := []string{"HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=key", "SHUNT_ADMIN_TOKENS=me:an-admin-token-that-is-long-enough", "SHUNT_CLIENT_TOKENS=ann:a-token-that-is-long-enough"}
	for _, example := range examples(t, "toml") {
		file := filepath.Join(t.TempDir(), "shunt.toml")
		if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, warnings, err := config.Load(config.Options{Path: file, Env: env, Families: app.Families()}); err != nil || len(warnings) > 0 {
			t.Errorf("%s\n%v %v", example, err, warnings)
		}
	}
}

// The commands that the documents give to a reader work, one block after the other, in one home.
func TestDocumentedCommands(t *testing.T) {
	provider := sim.New(sim.Config{Accounts: []sim.Account{{Name: "a"}, {Name: "b"}}})
	server, err := sim.Start(provider)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	home := t.TempDir()
	spare := filepath.Join(home, "claude-spare")
	if err := os.Mkdir(spare, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spare, ".credentials.json"), provider.Credentials("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A reader has a terminal, where Enter chooses the browser.
	const shunt = "shunt() { [ \"$1\" != login ] || set -- \"$@\" --mode oauth; command shunt \"$@\"; }\n"
	var script strings.Builder
	script.WriteString("set -eu\nmake() { :; }\n" + shunt)
	for _, block := range examples(t, "sh") {
		script.WriteString(block)
	}
	command := exec.Command("sh", "-c", script.String())
	command.Dir, command.Env = home, []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PERSON=a",
		"SHUNT_CLAUDE_AUTHORIZE_URL=" + server.URL + sim.AuthorizePath, "SHUNT_CLAUDE_TOKEN_URL=" + server.URL + sim.TokenPath,
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "config ok") || !strings.Contains(string(out), ".config/shunt/shunt.toml") {
		t.Errorf("%s", out)
	}
	for name, token := range map[string]string{"work": provider.Token("a"), "spare": provider.Token("b")} {
		file := filepath.Join(home, ".shunt/accounts/claude", name+".json")
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), token) {
			t.Errorf("%s: %s (%v)", name, text, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
	}
}

// The explanation in the guide is what `shunt check` prints for that recipe.
func TestDocumentedExplanation(t *testing.T) {
	const end = "(end)"
	_, shown, found := strings.Cut(strings.Join(examples(t, "console"), end)+end, "$ shunt check --explain \"claude-sonnet-5-5[1m]\"\n")
	shown, _, _ = strings.Cut(shown, end)
	command := exec.Command("shunt", "check", "--config", "../../docs/recipes/pin-a-model.toml", "--explain", "claude-sonnet-5-5[1m]")
	out, err := command.CombinedOutput()
	if !found || err != nil || string(out) != shown {
		t.Errorf("%v\ngot  %s\nshown %s", err, out, shown)
	}
}
