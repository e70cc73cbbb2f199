package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the directory of the repository.
const root = ".."

// walk calls visit for every file of the project with one of the extensions; name is relative to the root.
func walk(t *testing.T, visit func(name, text string), extensions ...string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "artifacts" || path != root && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		visit(filepath.ToSlash(name), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	clause     = regexp.MustCompile(`\b[A-Z]{2,6}-[0-9]+[a-z]?\b`)
	definition = regexp.MustCompile(`(?m)^\*\*([A-Z]{2,6}-[0-9]+[a-z]?)\*\*`)

	// notClauses look like clauses and are the names of other things.
	notClauses = []string{"UTF-8", "UTF-16", "SHA-256", "HTTP-2", "SSH-2", "FABLE-5", "FABLE-9"}
)

// Every rule that the code or a test cites is described in docs/behavior.md, once, and the document describes no other.
func TestBehavior(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "behavior.md"))
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
		if described[m[1]] {
			t.Errorf("docs/behavior.md describes %s twice", m[1])
		}
		described[m[1]] = true
	}
	for _, id := range clause.FindAllString(string(text), -1) {
		if !described[id] && !slices.Contains(notClauses, id) {
			t.Errorf("docs/behavior.md refers to %s and does not describe it", id)
		}
	}
	cited := map[string]string{}
	walk(t, func(name, text string) {
		if name == "internal/docs_test.go" {
			return
		}
		for _, id := range clause.FindAllString(text, -1) {
			if cited[id] == "" && !slices.Contains(notClauses, id) {
				cited[id] = name
			}
		}
	}, ".go")
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if !described[id] {
			t.Errorf("%s cites %s, which docs/behavior.md does not describe", cited[id], id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(described)) {
		if cited[id] == "" {
			t.Errorf("docs/behavior.md describes %s, which no code and no test cites", id)
		}
	}
}

var (
	code    = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Links between the documents lead to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	texts := map[string]string{}
	walk(t, func(name, text string) { texts[name] = text }, ".md")
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(texts[name], ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links %s: %v", name, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(texts[target]), anchor) {
				t.Errorf("%s links %s: %s has no such heading", name, m[1], target)
			}
		}
	}
}

// anchors returns the names under which the headings of a document can be linked.
func anchors(text string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				b.WriteRune(r)
			}
		}
		names = append(names, b.String())
	}
	return names
}

// The messages that the troubleshooting table quotes are messages of shunt.
func TestQuotedMessages(t *testing.T) {
	var said []string
	for _, l := range literals(t) {
		said = append(said, l.text)
	}
	all := strings.Join(said, "\n")
	text, err := os.ReadFile(filepath.Join(root, "docs", "guide", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	quotes := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+ [^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			if strings.HasPrefix(m[1], "shunt ") {
				continue // a command
			}
			if quotes++; !strings.Contains(all, m[1]) {
				t.Errorf("shunt does not say %q, which docs/guide/troubleshooting.md explains", m[1])
			}
		}
	}
	if quotes < 20 {
		t.Errorf("%d messages found in docs/guide/troubleshooting.md", quotes)
	}
}

// The family of accounts that CONTRIBUTING.md shows is the one that is tested.
func TestFamilyExample(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("family", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "```go\n")
	shown, _, found := strings.Cut(shown, "```")
	if !found || !strings.Contains(string(source), "\n\n"+shown+"\n// End of the example.") {
		t.Error("CONTRIBUTING.md shows another example than internal/family/example_test.go")
	}
}

// literal is a string in the source, with what is added to it.
type literal struct {
	file string
	line int
	text string
}

// literals returns the string literals of the code, without its tests: each by itself, and joined to those that it is added to.
func literals(t *testing.T) []literal {
	t.Helper()
	var all []literal
	walk(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				if n.Tag != nil {
					all = append(all, literal{name, files.Position(n.Tag.Pos()).Line, unquote(n.Tag.Value)})
				}
				return false
			case ast.Expr:
				if joined, ok := join(n); ok {
					all = append(all, literal{name, files.Position(n.Pos()).Line, joined})
				}
			}
			return true
		})
	}, ".go")
	return all
}

// join returns the text of an expression that consists of string literals; an operand that is another expression appears as
// a blank.
func join(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return unquote(e.Value), true
		}
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, leftOK := join(e.X)
		right, rightOK := join(e.Y)
		switch {
		case leftOK && rightOK:
			return left + right, true
		case leftOK:
			return left + " ", true
		case rightOK:
			return " " + right, true
		}
	}
	return "", false
}

func unquote(s string) string {
	if text, err := strconv.Unquote(s); err == nil {
		return text
	}
	return s
}
