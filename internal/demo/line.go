package demo

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// style is the meaning of a piece of text, which a terminal shows as a color.
type style uint8

const (
	plain style = iota
	faint
	strong
	good
	warn
	bad
)

// colors are the SGR parameters of the styles.
var colors = [...]string{faint: "2", strong: "1", good: "32", warn: "33", bad: "31"}

// line is a line of a view. Every rune in it is one column wide.
type line []span

type span struct {
	text  string
	style style
}

func (l *line) put(m style, text string) { *l = append(*l, span{text, m}) }

func (l *line) putf(m style, format string, args ...any) { l.put(m, fmt.Sprintf(format, args...)) }

// clip shortens the line to a width in columns and trims spaces from its end.
func (l line) clip(width int) line {
	var clipped line
	for _, s := range l {
		if n := columns(s.text); n > width {
			s.text = string([]rune(s.text)[:width])
		}
		width -= columns(s.text)
		clipped = append(clipped, s)
	}
	for n := len(clipped); n > 0; n = len(clipped) {
		last := &clipped[n-1]
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			break
		}
		clipped = clipped[:n-1]
	}
	return clipped
}

// text returns the line with or without colors.
func (l line) text(color bool) string {
	var b strings.Builder
	for _, s := range l {
		if !color || s.style == plain {
			b.WriteString(s.text)
			continue
		}
		fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", colors[s.style], s.text)
	}
	return b.String()
}

func columns(text string) int { return utf8.RuneCountInString(text) }

// wrap breaks a text into lines of at most width columns, except for longer words.
func wrap(text string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(text) {
		switch {
		case current == "":
			current = word
		case columns(current)+1+columns(word) <= width:
			current += " " + word
		default:
			lines = append(lines, current)
			current = word
		}
	}
	return append(lines, current)
}

// bar draws a fraction as a bar of a width in columns, in two parts.
func bar(fraction float64, width int) (filled, rest string) {
	const eighths = " ▏▎▍▌▋▊▉"
	n := int(min(max(fraction, 0), 1) * float64(8*width))
	filled = strings.Repeat("█", n/8)
	if n%8 != 0 {
		filled += string([]rune(eighths)[n%8])
	}
	return filled, strings.Repeat("·", width-columns(filled))
}

// percent rounds down, so that a window does not look used up before it is.
func percent(fraction float64) string { return fmt.Sprintf("%d%%", int(math.Floor(fraction*100+1e-6))) }

// short formats a duration in its largest unit, rounded up, in three columns below 100 days.
func short(d time.Duration) string {
	for _, u := range units {
		if d > u.limit {
			return fmt.Sprintf("%d%s", (d+u.size-1)/u.size, u.name)
		}
	}
	return "0s"
}

// roughly formats a duration in its two largest units, rounded down.
func roughly(d time.Duration) string {
	for i, u := range units[:len(units)-1] {
		if d >= u.size {
			next := units[i+1]
			return fmt.Sprintf("%d%s %d%s", d/u.size, u.name, d%u.size/next.size, next.name)
		}
	}
	return fmt.Sprintf("%ds", max(d, 0)/time.Second)
}

// units are units of time; [short] uses each for durations above its limit.
var units = []struct {
	name        string
	size, limit time.Duration
}{
	{"d", 24 * time.Hour, 48 * time.Hour},
	{"h", time.Hour, 99 * time.Minute},
	{"m", time.Minute, 99 * time.Second},
	{"s", time.Second, 0},
}

// amount formats a number of tokens, in at most six columns below 10^12.
func amount(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f%s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprint(n)
}
