package simulate

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"
)

// SIM-1: the page is self-contained, shows every policy, account and number, and no number is missing.
func TestPage(t *testing.T) {
	o := small()
	c := Compare(o)
	var page bytes.Buffer
	if err := WritePage(&page, &c); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, from := range []string{"http:", "https:", "<script", " src=", "href=", "@import", "url(", "NaN", "Inf", "ZgotmplZ", "<no value>"} {
		if strings.Contains(text, from) {
			t.Errorf("the page has %q", from)
		}
	}
	for _, want := range []string{Planned, Plain, RoundRobin, FillFirst, StickyOnly, Random, "upper bound", "account-3", "plan 2", "prefers-color-scheme: dark", c.Summary()} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, tag := range []string{"main", "table", "tr", "td", "figure", "svg", "text", "dl", "dd", "ul", "li", "div"} {
		opened, closed := len(regexp.MustCompile("<"+tag+"[ >]").FindAllString(text, -1)), strings.Count(text, "</"+tag+">")
		if opened != closed || opened == 0 {
			t.Errorf("%d <%s> and %d ends of it", opened, tag, closed)
		}
	}
	if got := strings.Count(text, "<svg"); got != 4+3+len(c.Results) {
		t.Errorf("%d drawings", got)
	}
	for _, path := range regexp.MustCompile(` d="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`^M[ML0-9. ZH-]+$`).MatchString(path[1]) {
			t.Errorf("path %.80q", path[1])
		}
	}
}

// Names at the ends of lines stay in order, apart from each other and inside the plot.
func TestSpread(t *testing.T) {
	lines := []line{{LabelY: 100}, {LabelY: 99}, {LabelY: 30}, {LabelY: 100}, {LabelY: 2}}
	spread(lines, 0, 100)
	want := []float64{86, 72, 30, 100, 4}
	for i := range lines {
		if lines[i].LabelY != want[i] {
			t.Errorf("name %d at %v, want %v", i, lines[i].LabelY, want[i])
		}
	}
}

// An axis has room for its highest value, and a place for zero.
func TestScales(t *testing.T) {
	for _, s := range []scale{linear, logarithmic} {
		for _, highest := range []float64{0, 0.004, 0.01, 0.35, 1, 7.5, 99, 100, 43_000} {
			top := s.top(highest)
			if at := s.at(highest, top); at < 0 || at > 1 || math.IsNaN(at) || s.at(0, top) != 0 {
				t.Errorf("%T: %v of %v at %v", s, highest, top, at)
			}
			marks := s.marks(top)
			if marks[0] != 0 || marks[len(marks)-1] != top {
				t.Errorf("%T: marks %v up to %v", s, marks, top)
			}
		}
	}
}
