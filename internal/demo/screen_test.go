package demo

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestTerminal(t *testing.T) {
	t.Run("each frame replaces the one before", func(t *testing.T) {
		screen := &terminal{intro: []string{"intro"}}
		first := string(screen.draw(aFrame(), 80, 24))
		if !strings.HasPrefix(first, "\r"+eraseRight) {
			t.Errorf("the first frame does not start at the cursor: %q", first)
		}
		up := fmt.Sprintf("\x1b[%dA", strings.Count(first, "\n"))
		if second := string(screen.draw(aFrame(), 80, 24)); second != up+first {
			t.Errorf("the second frame: %q", second)
		}
	})
	t.Run("a resized terminal is redrawn", func(t *testing.T) {
		screen := &terminal{intro: []string{"intro"}}
		screen.draw(aFrame(), 80, 24)
		narrow := string(screen.draw(aFrame(), 60, 24))
		if !strings.HasPrefix(narrow, clearAll+"intro\n") {
			t.Errorf("narrower: %q", narrow)
		}
		low := string(screen.draw(aFrame(), 60, 8))
		if !strings.HasPrefix(low, clearAll+"\r") || strings.Count(low, "\n") > 7 {
			t.Errorf("lower: %q", low)
		}
	})
	t.Run("the intro stays visible", func(t *testing.T) {
		screen := &terminal{intro: []string{strings.Repeat("long ", 20), "short"}} // three rows of 80 columns
		if rows := strings.Count(string(screen.draw(aFrame(), 80, 20)), "\n"); rows > 20-3-1 {
			t.Errorf("the frame has %d rows", rows)
		}
	})
	t.Run("colors", func(t *testing.T) {
		color := regexp.MustCompile("\x1b\\[[0-9;]*m")
		without := (&terminal{}).draw(aFrame(), 80, 24)
		with := (&terminal{color: true}).draw(aFrame(), 80, 24)
		if color.Match(without) {
			t.Errorf("colors although they are off: %q", without)
		}
		if !bytes.Contains(with, []byte("\x1b[31mcooling down 42m")) {
			t.Errorf("an account that cools down is not red: %q", with)
		}
		if stripped := color.ReplaceAll(with, nil); !bytes.Equal(stripped, without) {
			t.Errorf("the text differs with colors: %q", stripped)
		}
	})
}
