package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// report is the output of a run, in Markdown.
type report struct {
	name  string   // of the measured program
	head  []string // where and how it was measured
	rows  []row
	notes []string
}

func (r *report) add(row row)      { r.rows = append(r.rows, row) }
func (r *report) note(note string) { r.notes = append(r.notes, note) }

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s compared with a bare reverse proxy\n\n", r.name)
	list(&b, r.head)
	b.WriteByte('\n')
	table(&b, r.lines())
	if len(r.notes) > 0 {
		b.WriteByte('\n')
		list(&b, r.notes)
	}
	return b.String()
}

func (r *report) lines() [][]string {
	lines := [][]string{{"measurement", "bare", r.name, "ratio", "smallest–largest", "target", "met"}}
	for _, row := range r.rows {
		lines = append(lines, []string{row.work, row.bare, row.measured, row.ratio, row.span, row.target, row.met})
	}
	return lines
}

func list(b *strings.Builder, items []string) {
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", strings.ReplaceAll(item, "\n", " "))
	}
}

// table writes a table with an aligned source. All columns except the first are aligned to the right.
func table(b *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for number, line := range lines {
		for i, cell := range line {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprintf(b, "| %s%s ", cell, padding)
			} else {
				fmt.Fprintf(b, "| %s%s ", padding, cell)
			}
		}
		b.WriteString("|\n")
		if number == 0 {
			for i, width := range widths {
				if i == 0 {
					fmt.Fprintf(b, "|-%s-", strings.Repeat("-", width))
				} else {
					fmt.Fprintf(b, "|-%s:", strings.Repeat("-", width))
				}
			}
			b.WriteString("|\n")
		}
	}
}

// writeFile writes a file atomically.
func writeFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // if it was not renamed
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
