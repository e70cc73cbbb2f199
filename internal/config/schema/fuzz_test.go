package schema

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

// CFG-2: the tree with line numbers holds what the TOML decoder says the document holds.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a = 1\n[b.c]\nd = [1.5, true, 'x', 1979-05-27]\n[[e]]\nf = { g = 0x1f }\n[[e]]\n[e.h]\n'quoted key' = inf\n"))
	f.Add([]byte("\ufeff# comment\r\na.b.c = \"\"\"\nx\"\"\"\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		document, problem := Parse(data)
		if problem != nil {
			if lines := strings.Count(string(data), "\n") + 1; problem.Line < 0 || problem.Line > lines || problem.Message == "" {
				t.Fatalf("problem %+v in %d lines", problem, lines)
			}
			return
		}
		var want map[string]any
		if err := toml.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(want), document.root.plain(t)); diff != "" {
			t.Errorf("-decoder +tree:\n%s", diff)
		}
	})
}

// plain converts decoded values to those of the tree, which does not distinguish kinds of dates and times.
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
