package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing wrong with a configuration, or questionable about it, and what to write instead. It never holds
// a value from the file or the environment, since any of them may be a secret (CFG-4, CFG-5).
type Problem struct {
	File    string // empty if no file is at fault
	Line    int    // 1-based; 0 if no line is
	Key     string // "server.bind", or the environment variable that set it; empty if no key is at fault
	Message string
}

// String is the problem as one line of text: "shunt.toml:3: server.bind: must be ...".
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

// Problems is every problem of a configuration: those of the file by line, then those of the environment by name (CFG-2). It is the only
// type of error that [Load] returns.
type Problems []Problem

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Warning is a problem that does not keep a configuration from running (CFG-45).
type Warning = Problem

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Message, b.Message))
	})
}
