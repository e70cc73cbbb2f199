package config

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

// CFG-2, CFG-4: whatever the file holds, there is either a configuration or problems in the file's lines, and no value that
// a reference brings in shows in them. The tree with line numbers holds what the TOML decoder says the document holds.
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
		config, warnings, err := load(Options{Path: "shunt.toml", Env: env}, data)
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
		if document, problem := parseDocument(data); problem == nil {
			var want map[string]any
			if err := toml.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(want), document.plain(t)); diff != "" {
				t.Errorf("-decoder +tree:\n%s", diff)
			}
		}
	})
}

// plain writes decoded values as the tree has them: without the difference between kinds of dates and times.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, child := range v {
			out[name] = plain(child)
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, plain(item))
		}
		return out
	case float64:
		return math.Float64bits(v)
	case string, bool, int64:
		return v
	default:
		return timeShape
	}
}

func (n *node) plain(t *testing.T) any {
	switch n.shape {
	case tableShape:
		out := map[string]any{}
		for _, name := range n.names {
			out[name] = n.child[name].plain(t)
		}
		return out
	case listShape:
		out := []any{}
		for _, item := range n.items {
			out = append(out, item.plain(t))
		}
		return out
	case textShape:
		return n.text
	case boolShape:
		return n.text == "true"
	case wholeShape:
		number, err := strconv.ParseInt(n.text, 0, 64)
		if err != nil {
			t.Errorf("whole number %q: %v", n.text, err)
		}
		return number
	case numberShape:
		number, err := strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64)
		if err != nil {
			t.Errorf("number %q: %v", n.text, err)
		}
		return math.Float64bits(number)
	default:
		return timeShape
	}
}
