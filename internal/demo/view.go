package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// frame is all that a moment of the demo has to show.
type frame struct {
	speed             float64
	lasted, simulated time.Duration // since the start, in real time and in the accounts'

	accounts          []standing
	served            map[string]served // by account
	seats             map[string][]int  // which sessions it answered last
	simulatedSessions int               // whose numbers come first
	events            []event           // oldest first
	answers           int
	failures          int // as the sessions saw them
	moves             int
	refreshes         int64
}

// layout is which columns the table of accounts has besides names, states, bars and percentages.
type layout struct {
	reset            int // columns of the countdown; 0 = none
	requests, tokens bool
	leastBar         int // columns of a bar, without which a poorer layout is the better one
}

// layouts are the tables to choose from, the richest first.
var layouts = []layout{
	{reset: 7, requests: true, tokens: true, leastBar: 10},
	{reset: 3, requests: true, tokens: true, leastBar: 4},
	{reset: 3, requests: true, leastBar: 4},
	{requests: true, leastBar: 4},
	{leastBar: 0},
}

const (
	widestBar     = 18
	percentWidth  = 4
	requestsWidth = 5
	tokensWidth   = 6
	mostEvents    = 10 // lines
	eventIndent   = 8
)

// block is the width of one window.
func (t *layout) block(bar int) int {
	width := bar + 1 + percentWidth
	if t.reset > 0 {
		width += 1 + t.reset
	}
	return width
}

// width is that of a row.
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

// fit chooses a layout and the width of its bars for a width in columns.
func fit(width, name int) (layout, int) {
	for _, t := range layouts {
		if bar := min((width-t.width(name, 0))/windows, widestBar); bar >= t.leastBar {
			return t, bar
		}
	}
	return layouts[len(layouts)-1], 0
}

// view draws the frame in a width and a height in columns and rows. The number of lines depends on the height and the
// number of accounts only, so that nothing jumps while events come in.
func (f *frame) view(width, height int) []line {
	lines := []line{f.title()}
	lines = append(lines, f.table(width)...)
	lines = append(lines, f.seatsLine())
	// Besides the events there are a blank line above and one below them, and the totals.
	if room := min(height-len(lines)-3, mostEvents); room > 0 {
		lines = append(lines, line{})
		lines = append(lines, f.story(width, room)...)
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

// seatsLine says where the sessions are.
func (f *frame) seatsLine() (l line) {
	l.put(faint, "sessions at ")
	for i, a := range f.accounts {
		if i > 0 {
			l.put(faint, ", ")
		}
		l.put(faint, a.name+" ")
		switch seats := f.seats[a.name]; {
		case len(seats) == 0:
			l.put(plain, "-")
		case f.simulatedSessions > mostNamed:
			l.put(plain, strconv.Itoa(len(seats)))
		default:
			l.put(plain, f.names(seats))
		}
	}
	return l
}

// mostNamed is how many sessions are shown by their numbers, not only counted.
const mostNamed = 9

// names are sessions in a few characters each.
func (f *frame) names(sessions []int) string {
	names := make([]string, len(sessions))
	for i, n := range sessions {
		names[i] = strconv.Itoa(n)
		if n > f.simulatedSessions {
			names[i] = "you"
		}
	}
	return strings.Join(names, " ")
}

func (f *frame) row(a *standing, t layout, name, barWidth int) (l line) {
	state, mood := a.state()
	l.putf(strong, "%-*s ", name, a.name)
	l.putf(mood, "%-*s", stateWidth, state)
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
		l.put(g.mood(), " "+filled)
		l.put(faint, rest)
		l.putf(g.mood(), " %*s", percentWidth, percent(g.used))
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

// warnAt is the fraction from which a gauge is worth a look.
const warnAt = 0.8

func (g *gauge) mood() mood {
	switch {
	case g.near():
		return bad
	case g.used >= warnAt:
		return warn
	}
	return good
}

// fresh is how long an event is highlighted, in real time.
const fresh = 3 * time.Second

// story is the newest events that fit into a number of rows, oldest first, and blank lines to fill it.
func (f *frame) story(width, rows int) []line {
	var lines []line
	for _, e := range slices.Backward(f.events) {
		var told []line
		mood := e.mood
		if mood == plain && f.simulated-e.at < time.Duration(f.speed*float64(fresh)) {
			mood = strong
		}
		for i, text := range wrap(e.text, max(width-eventIndent, 20)) {
			var l line
			if i == 0 {
				l.putf(faint, "%*s ", eventIndent-1, roughly(e.at))
			} else {
				l.putf(plain, "%*s", eventIndent, "")
			}
			l.put(mood, text)
			told = append(told, l)
		}
		if len(lines)+len(told) > rows {
			break
		}
		lines = append(told, lines...)
	}
	return append(lines, make([]line, rows-len(lines))...)
}

func (f *frame) totals() string {
	failed := "none failed"
	if f.failures > 0 {
		failed = fmt.Sprintf("%d failed", f.failures)
	}
	text := fmt.Sprintf("%s, %s, %s", counted(f.answers, "request"), failed, counted(f.moves, "move"))
	if f.refreshes > 0 {
		text += ", " + counted(int(f.refreshes), "token") + " refreshed"
	}
	return text
}

func (f *frame) totalsLine() (l line) {
	mood := good
	if f.failures > 0 {
		mood = bad
	}
	l.put(mood, f.totals())
	return l
}

// summary is the frame in one plain line, with the last event if that came after since.
func (f *frame) summary(since time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s):", roughly(f.lasted), roughly(f.simulated))
	for i := range f.accounts {
		a := &f.accounts[i]
		state, _ := a.state()
		fmt.Fprintf(&b, " %s %s", a.name, state)
		for w, label := range [windows]string{"5h", "7d", "fable"} {
			if g := &a.windows[w]; g.known {
				fmt.Fprintf(&b, " %s %s", label, percent(g.used))
			}
		}
		b.WriteByte(';')
	}
	fmt.Fprintf(&b, " %s", f.totals())
	if n := len(f.events); n > 0 && f.events[n-1].at > since {
		fmt.Fprintf(&b, "; %s", f.events[n-1].text)
	}
	return b.String()
}
