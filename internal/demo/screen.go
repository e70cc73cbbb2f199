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
	interval() time.Duration // between frames
	show(*frame) error
	close(last *frame, results []string) error
}

func newScreen(o Options) screen {
	if o.Live {
		return &terminal{out: o.Out, color: o.Color}
	}
	return &printer{out: o.Out}
}

// printer is a screen for a file or a pipe: it prints each frame as a line.
type printer struct {
	out  *os.File
	last time.Duration // time on the demo's clock at the last frame
}

func (p *printer) interval() time.Duration { return 3 * time.Second }

func (p *printer) open(intro []string) error { return p.print(intro...) }

func (p *printer) show(f *frame) error {
	since := p.last
	p.last = f.simulated
	return p.print(f.summary(since))
}

func (p *printer) close(_ *frame, results []string) error {
	return p.print(append([]string{""}, results...)...)
}

func (p *printer) print(text ...string) error {
	_, err := p.out.WriteString(strings.Join(text, "\n") + "\n")
	return err
}

// terminal is a screen that draws each frame over the one before. It clears the terminal only after a resize, when the position
// of the old lines is unknown.
type terminal struct {
	out           *os.File
	color         bool
	intro         []string
	width, height int // at the last frame; 0 before the first
	rows          int // of the last frame
}

// defaultWidth and defaultHeight are for a terminal that does not report its size.
const defaultWidth, defaultHeight = 80, 24

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearAll   = "\x1b[H\x1b[2J"
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
)

// interval is short enough for bars to move smoothly.
func (t *terminal) interval() time.Duration { return 200 * time.Millisecond }

func (t *terminal) open(intro []string) error {
	t.intro = intro
	_, err := t.out.WriteString(hideCursor + strings.Join(intro, "\n") + "\n")
	return err
}

func (t *terminal) show(f *frame) error {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = defaultWidth, defaultHeight
	}
	_, err = t.out.Write(t.draw(f, width, height))
	return err
}

// draw returns the output that replaces the last frame with f. It leaves the cursor in the row below the frame.
func (t *terminal) draw(f *frame, width, height int) []byte {
	var b bytes.Buffer
	intro, room := 0, height-1
	for _, text := range t.intro {
		intro += max(1, (columns(text)+width-1)/width)
	}
	roomy := room-intro >= minRows
	if roomy { // keep the intro visible
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

// minRows is the height of a frame with a few events.
const minRows = 12

func (t *terminal) close(last *frame, results []string) error {
	if err := t.show(last); err != nil {
		return err
	}
	_, err := t.out.WriteString(showCursor + strings.Join(results, "\n") + "\n")
	return err
}
