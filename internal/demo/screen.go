package demo

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen shows the demo.
type screen interface {
	open(intro []string) error
	interval() time.Duration // between two frames
	show(*frame) error
	close(last *frame, outro []string) error
}

func newScreen(o Options) screen {
	if o.Live {
		return &terminal{out: o.Out, color: o.Color}
	}
	return &printer{out: o.Out}
}

// printer is a screen for a file or a pipe: one line a frame.
type printer struct {
	out  *os.File
	last time.Duration // the accounts' time at the last frame
}

func (p *printer) interval() time.Duration { return 3 * time.Second }

func (p *printer) open(intro []string) error { return p.print(intro...) }

func (p *printer) show(f *frame) error {
	since := p.last
	p.last = f.simulated
	return p.print(f.summary(since))
}

func (p *printer) close(_ *frame, outro []string) error {
	return p.print(append([]string{""}, outro...)...)
}

func (p *printer) print(text ...string) error {
	_, err := p.out.WriteString(strings.Join(text, "\n") + "\n")
	return err
}

// terminal is a screen that draws each frame over the one before. What was on the terminal before the demo stays there,
// unless the terminal is resized: then nobody can tell where the old lines are, and it is cleared.
type terminal struct {
	out           *os.File
	color         bool
	intro         []string
	width, height int // at the last frame; 0 = there was none
	rows          int // of the last frame
}

// usualWidth and usualHeight are those of a terminal that does not tell its size.
const usualWidth, usualHeight = 80, 24

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearAll   = "\x1b[H\x1b[2J"
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
)

// interval is short enough for bars that seem to move.
func (t *terminal) interval() time.Duration { return 200 * time.Millisecond }

func (t *terminal) open(intro []string) error {
	t.intro = intro
	_, err := t.out.WriteString(hideCursor + strings.Join(intro, "\n") + "\n")
	return err
}

func (t *terminal) show(f *frame) error {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = usualWidth, usualHeight
	}
	_, err = t.out.Write(t.draw(f, width, height))
	return err
}

// draw is the output that puts f in the place of the last frame on a terminal of that size. The cursor rests in the row
// below the frame.
func (t *terminal) draw(f *frame, width, height int) []byte {
	var b bytes.Buffer
	intro, room := 0, height-1
	for _, text := range t.intro {
		intro += max(1, (columns(text)+width-1)/width)
	}
	roomy := room-intro >= leastRows
	if roomy { // the intro stays in view
		room -= intro
	}
	switch resized := t.width != 0 && (t.width != width || t.height != height); {
	case resized && roomy:
		b.WriteString(clearAll + strings.Join(t.intro, "\n") + "\n")
	case resized:
		b.WriteString(clearAll)
	case t.rows > 0:
		fmt.Fprintf(&b, "\x1b[%dA", t.rows)
	}
	lines := f.view(width, room)
	for _, l := range lines {
		fmt.Fprintf(&b, "\r%s%s\n", eraseRight, l.text(t.color))
	}
	b.WriteString("\r" + eraseBelow)
	t.width, t.height, t.rows = width, height, len(lines)
	return b.Bytes()
}

// leastRows is what a frame with a few events takes.
const leastRows = 12

func (t *terminal) close(last *frame, outro []string) error {
	if err := t.show(last); err != nil {
		return err
	}
	_, err := t.out.WriteString(showCursor + strings.Join(outro, "\n") + "\n")
	return err
}
