package schema

import (
	"fmt"
	"slices"
	"strings"
)

// unknown returns the message for a key or table in t that the schema does not have.
func (s *Schema) unknown(t *Table, heading, name string, n *node) string {
	var keys, tables []string
	for _, k := range t.Keys {
		keys = append(keys, k.Name)
	}
	for _, sub := range t.Tables {
		tables = append(tables, sub.Name)
		if sub.Short != nil || sub.Any != nil && sub.Form == Single {
			keys = append(keys, sub.Name) // often written like one
		}
	}
	what, known := "key", keys
	if n.shape == tableShape || n.tables() {
		what, known = "table", tables
	}
	if near, ok := Nearest(name, slices.Concat(keys, tables)); ok {
		return fmt.Sprintf("unknown %s; did you mean %s?", what, near)
	}
	if elsewhere, ok := s.misplaced(heading, name); ok && what == "key" {
		return fmt.Sprintf("unknown key; did you mean %s?", elsewhere)
	}
	if len(known) == 0 {
		known = slices.Concat(keys, tables)
	}
	if len(known) == 0 {
		return "unknown " + what + "; the table has none"
	}
	return fmt.Sprintf("unknown %s; known here: %s", what, strings.Join(known, ", "))
}

// misplaced finds a key that another table has: one under the same top-level table or, for a key at the top, any table that
// needs no name.
func (s *Schema) misplaced(heading, name string) (string, bool) {
	top, _, _ := strings.Cut(heading, ".")
	var found string
	s.Root.walk("", func(where string, t *Table) {
		under, _, _ := strings.Cut(where, ".")
		if found == "" && t.key(name) != nil && (under == top || top == "" && !strings.Contains(where, "<")) {
			found = where + "." + name
		}
	})
	return found, found != ""
}

// Nearest returns the candidate that a misspelt name most likely stands for, if any is close enough.
func Nearest(name string, candidates []string) (string, bool) {
	limit := min(3, max(1, len(name)/3))
	best, found := "", false
	for _, candidate := range candidates {
		if abs(len(name)-len(candidate)) > limit {
			continue // also bounds the work for a very long name
		}
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d <= limit {
			best, found, limit = candidate, true, d-1
		}
	}
	return best, found
}

// distance counts the letters to insert, delete, replace or swap with a neighbor to turn a into b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before, above []int
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		before, above, row = above, row, slices.Repeat([]int{i + 1}, len(t)+1)
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(t)]
}

func abs(n int) int { return max(n, -n) }
