package config

import (
	"fmt"
	"slices"
	"strings"
)

// unknown is what to say about a key or table of t that the schema does not have.
func unknown(t *table, heading, name string, n *node) string {
	var keys, tables []string
	for _, k := range t.keys {
		keys = append(keys, k.name)
	}
	for _, sub := range t.tables {
		tables = append(tables, sub.name)
		if sub.short != nil || sub.free != nil {
			keys = append(keys, sub.name) // commonly written like one
		}
	}
	what, known := "key", keys
	if n.shape == tableShape || n.tables() {
		what, known = "table", tables
	}
	if near, ok := nearest(name, slices.Concat(keys, tables)); ok {
		return fmt.Sprintf("unknown %s; did you mean %s?", what, near)
	}
	if elsewhere, ok := misplaced(heading, name); ok && what == "key" {
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

// misplaced finds a key that another table has: one under the same top-level table, or if the key stands at the top, any
// that needs no name.
func misplaced(heading, name string) (string, bool) {
	top, _, _ := strings.Cut(heading, ".")
	var found string
	schema.walk("", func(where string, t *table) {
		under, _, _ := strings.Cut(where, ".")
		if found == "" && t.key(name) != nil && (under == top || top == "" && !strings.Contains(where, "<")) {
			found = where + "." + name
		}
	})
	return found, found != ""
}

// nearest is the candidate that a misspelt name most likely stands for, if any is near enough to say so.
func nearest(name string, candidates []string) (string, bool) {
	limit := min(3, max(1, len(name)/3))
	best, found := "", false
	for _, candidate := range candidates {
		if abs(len(name)-len(candidate)) > limit {
			continue // also bounds the work that a monstrous name causes
		}
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d <= limit {
			best, found, limit = candidate, true, d-1
		}
	}
	return best, found
}

// distance counts the letters to insert, delete, replace or swap with their neighbour between a and b.
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
