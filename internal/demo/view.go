package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// frame is what the demo shows at one moment.
type frame struct {
	speed             float64
	lasted, simulated time.Duration // since the start, in real time and on the demo's clock

	accounts     []standing
	served       map[string]usage // by account
	sessionsAt   map[string][]int // sessions by the account that served them last
	numSimulated int              // number of simulated sessions; higher numbers are real clients
	events       []event          // oldest first
	requests     int
	failures     int // failed requests of simulated sessions
	moves        int
	refreshes    int64
}

// layout selects the columns of the table of accounts besides name, state, bars and percentages.
type layout struct {
	reset            int // width of the countdown; 0 = none
	requests, tokens bool
	minBar           int // smallest width of a bar for which to use this layout
}

// layouts are in order of preference.
var layouts = []layout{
	{reset: 7, requests: true, tokens: true, minBar: 10},
	{reset: 3, requests: true, tokens: true, minBar: 4},
	{reset: 3, requests: true, minBar: 4},
	{requests: true, minBar: 4},
	{minBar: 0},
}

const (
	maxBar        = 18
	percentWidth  = 4
	requestsWidth = 5
	tokensWidth   = 6
	maxEvents     = 10 // lines
	eventIndent   = 8
)

// block returns the width of a window's columns.
func (t *layout) block(bar int) int {
	width := bar + 1 + percentWidth
	if t.reset > 0 {
		width += 1 + t.reset
	}
	return width
}

// width returns the width of a row.
func (t *layout) width(name, bar int) int {
	width := name + 1 + stateWidth + windows*(1+t.block(bar)) + (windows - 1)
	if t.requests {
		width += 1 + requestsWidth
	}
	if t.tokens {
		width += 1 + tokensWidth
	}
	return width
}

// fit returns the layout and the width of its bars for a width in columns.
func fit(width, name int) (layout, int) {
	for _, t := range layouts {
		if bar := min((width-t.width(name, 0))/windows, maxBar); bar >= t.minBar {
			return t, bar
		}
	}
	return layouts[len(layouts)-1], 0
}

// view draws the frame for a size in columns and rows. The number of lines depends only on the height and the number of
// accounts, so that nothing jumps when events are added.
func (f *frame) view(width, height int) []line {
	lines := []line{f.title()}
	lines = append(lines, f.table(width)...)
	lines = append(lines, f.sessionsLine())
	// Events need a blank line above and below, and the totals a line.
	if room := min(height-len(lines)-3, maxEvents); room > 0 {
		lines = append(lines, line{})
		lines = append(lines, f.eventLines(width, room)...)
		lines = append(lines, line{})
	}
	lines = append(lines, f.totalsLine())
	lines = lines[:min(len(lines), max(height, 1))]
	for i := range lines {
		lines[i] = lines[i].clip(width)
	}
	return lines
}

func (f *frame) title() (l line) {
	l.put(strong, roughly(f.simulated))
	l.putf(plain, " simulated in %s, %s", roughly(f.lasted), pace(f.speed))
	return l
}

func (f *frame) table(width int) []line {
	name := 0
	for _, a := range f.accounts {
		name = max(name, len(a.name))
	}
	t, bar := fit(width, name)
	var head line
	head.putf(faint, "%*s", name+1+stateWidth, "")
	for w, label := range [windows]string{"5h", "7d", "Fable 7d"} {
		if w > 0 {
			head.put(faint, " ")
		}
		head.putf(faint, " %-*s", t.block(bar), label)
	}
	if t.requests {
		head.putf(faint, " %*s", requestsWidth, "reqs")
	}
	if t.tokens {
		head.putf(faint, " %*s", tokensWidth, "tokens")
	}
	lines := []line{head}
	for i := range f.accounts {
		lines = append(lines, f.row(&f.accounts[i], t, name, bar))
	}
	return lines
}

// sessionsLine shows which account serves each session.
func (f *frame) sessionsLine() (l line) {
	l.put(faint, "sessions at ")
	for i, a := range f.accounts {
		if i > 0 {
			l.put(faint, ", ")
		}
		l.put(faint, a.name+" ")
		switch sessionsAt := f.sessionsAt[a.name]; {
		case len(sessionsAt) == 0:
			l.put(plain, "-")
		case f.numSimulated > maxNamed:
			l.put(plain, strconv.Itoa(len(sessionsAt)))
		default:
			l.put(plain, f.names(sessionsAt))
		}
	}
	return l
}

// maxNamed is the largest number of simulated sessions for which the view shows numbers instead of counts.
const maxNamed = 9

// names lists sessions in a few characters each.
func (f *frame) names(sessions []int) string {
	names := make([]string, len(sessions))
	for i, n := range sessions {
		names[i] = strconv.Itoa(n)
		if n > f.numSimulated {
			names[i] = "you"
		}
	}
	return strings.Join(names, " ")
}

func (f *frame) row(a *standing, t layout, name, barWidth int) (l line) {
	state, style := a.state()
	l.putf(strong, "%-*s ", name, a.name)
	l.putf(style, "%-*s", stateWidth, state)
	for w := range a.windows {
		g := &a.windows[w]
		if w > 0 {
			l.put(plain, " ")
		}
		if !g.known {
			_, rest := bar(0, barWidth)
			l.putf(faint, " %-*s", t.block(barWidth), fmt.Sprintf("%s %*s", rest, percentWidth, "-"))
			continue
		}
		filled, rest := bar(g.used, barWidth)
		l.put(g.style(), " "+filled)
		l.put(faint, rest)
		l.putf(g.style(), " %*s", percentWidth, percent(g.used))
		switch t.reset {
		case 0:
		case 3:
			l.putf(faint, " %*s", t.reset, short(g.resetIn))
		default:
			l.putf(faint, " %*s", t.reset, roughly(g.resetIn))
		}
	}
	served := f.served[a.name]
	if t.requests {
		l.putf(plain, " %*d", requestsWidth, served.requests)
	}
	if t.tokens {
		l.putf(plain, " %*s", tokensWidth, amount(served.tokens))
	}
	return l
}

// warnAt is the fraction at which a gauge turns yellow.
const warnAt = 0.8

func (g *gauge) style() style {
	switch {
	case g.near():
		return bad
	case g.used >= warnAt:
		return warn
	}
	return good
}

// highlightFor is the time for which an event is highlighted, in real time.
const highlightFor = 3 * time.Second

// eventLines returns the latest events that fit into a number of rows, oldest first, followed by blank lines.
func (f *frame) eventLines(width, rows int) []line {
	var lines []line
	for _, e := range slices.Backward(f.events) {
		var wrapped []line
		style := e.style
		if style == plain && f.simulated-e.at < time.Duration(f.speed*float64(highlightFor)) {
			style = strong
		}
		for i, text := range wrap(e.text, max(width-eventIndent, 20)) {
			var l line
			if i == 0 {
				l.putf(faint, "%*s ", eventIndent-1, roughly(e.at))
			} else {
				l.putf(plain, "%*s", eventIndent, "")
			}
			l.put(style, text)
			wrapped = append(wrapped, l)
		}
		if len(lines)+len(wrapped) > rows {
			break
		}
		lines = append(wrapped, lines...)
	}
	return append(lines, make([]line, rows-len(lines))...)
}

func (f *frame) totals() string {
	failed := "none failed"
	if f.failures > 0 {
		failed = fmt.Sprintf("%d failed", f.failures)
	}
	text := fmt.Sprintf("%s, %s, %s", counted(f.requests, "request"), failed, counted(f.moves, "move"))
	if f.refreshes > 0 {
		text += ", " + counted(int(f.refreshes), "token") + " refreshed"
	}
	return text
}

func (f *frame) totalsLine() (l line) {
	style := good
	if f.failures > 0 {
		style = bad
	}
	l.put(style, f.totals())
	return l
}

// summary returns the frame in one plain line, with the last event if it happened after since.
func (f *frame) summary(since time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s):", roughly(f.lasted), roughly(f.simulated))
	for i := range f.accounts {
		a := &f.accounts[i]
		state, _ := a.state()
		fmt.Fprintf(&b, " %s %s", a.name, state)
		var used []string
		for w, label := range windowLabels {
			if g := &a.windows[w]; g.known {
				used = append(used, label+" "+percent(g.used))
			}
		}
		if len(used) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(used, ", "))
		}
		b.WriteByte(';')
	}
	fmt.Fprintf(&b, " %s", f.totals())
	if n := len(f.events); n > 0 && f.events[n-1].at > since {
		fmt.Fprintf(&b, "; %s", f.events[n-1].text)
	}
	return b.String()
}
