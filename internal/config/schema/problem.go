package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Problem is an error or a warning about a configuration, with what to write instead. It never holds a value from the file or
// the environment, since any of them may be a secret (CFG-4, CFG-5).
type Problem struct {
	File    string // empty if the problem is in no file
	Line    int    // 1-based; 0 if the problem is in no line
	Key     string // "server.bind", or the environment variable that set it; empty if the problem is in no key
	Message string
}

// String returns the problem as one line of text: "app.toml:3: server.bind: must be ...".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(p.Line))
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems lists the problems of a configuration: those of the file by line, then those of the environment by name (CFG-2).
type Problems []Problem

// Error lists the problems, one per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sorted() Problems {
	ps = slices.Clone(ps)
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Message, b.Message))
	})
	return ps
}
