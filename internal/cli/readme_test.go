package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shunt/internal/config"
	"shunt/internal/sim"
)

// examples are the fenced blocks of a language in a document of the project.
func examples(t *testing.T, document, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", document))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^ *```"+language+"\n(.*?)^ *```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no example in %s", document, language)
	}
	return blocks
}

// The configurations that the README shows are good ones.
func TestReadmeConfigurations(t *testing.T) {
	env := []string{"HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=key", "SHUNT_ADMIN_TOKENS=me:an-admin-token-that-is-long-enough", "SHUNT_CLIENT_TOKENS=ann:a-token-that-is-long-enough"}
	for _, example := range examples(t, "README.md", "toml") {
		file := filepath.Join(t.TempDir(), "shunt.toml")
		if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, warnings, err := config.Load(config.Options{Path: file, Env: env}); err != nil || len(warnings) > 0 {
			t.Errorf("%s\n%v %v", example, err, warnings)
		}
	}
}

// The commands that the README has a person type work, one block after the other, in one home.
func TestReadmeCommands(t *testing.T) {
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
	// A person has a terminal, at which Enter chooses the browser.
	const shunt = "shunt_() { [ \"$1\" != login ] || set -- \"$@\" --mode oauth; command shunt \"$@\"; }\n"
	var script strings.Builder
	script.WriteString("set -eu\nmake() { :; }\n" + shunt)
	for _, block := range examples(t, "README.md", "sh") {
		script.WriteString(strings.ReplaceAll(block, "./shunt", "shunt_"))
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

// What the README shows of an explanation is what `check` says of that recipe.
func TestReadmeExplanation(t *testing.T) {
	const end = "(end)"
	_, shown, found := strings.Cut(strings.Join(examples(t, "README.md", "console"), end)+end, "$ ./shunt check --explain \"claude-sonnet-5-5[1m]\"\n")
	shown, _, _ = strings.Cut(shown, end)
	command := exec.Command("shunt", "check", "--config", "../../docs/recipes/pin-a-model.toml", "--explain", "claude-sonnet-5-5[1m]")
	out, err := command.CombinedOutput()
	if !found || err != nil || string(out) != shown {
		t.Errorf("%v\ngot  %s\nshown %s", err, out, shown)
	}
}
