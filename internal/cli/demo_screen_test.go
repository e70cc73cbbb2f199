package cli

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestDemoTerminal(t *testing.T) {
	t.Run("each frame takes the place of the one before", func(t *testing.T) {
		screen := &terminal{intro: []string{"intro"}}
		first := string(screen.draw(aFrame(), 80, 24))
		if !strings.HasPrefix(first, "\r"+eraseRight) {
			t.Errorf("the first frame does not begin where the cursor is: %q", first)
		}
		up := fmt.Sprintf("\x1b[%dA", strings.Count(first, "\n"))
		if second := string(screen.draw(aFrame(), 80, 24)); second != up+first {
			t.Errorf("the second frame: %q", second)
		}
	})
	t.Run("a resized terminal is drawn anew", func(t *testing.T) {
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
	t.Run("the intro stays in view", func(t *testing.T) {
		screen := &terminal{intro: []string{strings.Repeat("long ", 20), "short"}} // three rows of 80 columns
		if rows := strings.Count(string(screen.draw(aFrame(), 80, 20)), "\n"); rows > 20-3-1 {
			t.Errorf("the frame has %d rows", rows)
		}
	})
	t.Run("colours", func(t *testing.T) {
		colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
		without := (&terminal{}).draw(aFrame(), 80, 24)
		with := (&terminal{colour: true}).draw(aFrame(), 80, 24)
		if colour.Match(without) {
			t.Errorf("colours without colour: %q", without)
		}
		if !bytes.Contains(with, []byte("\x1b[31mrejected 42m")) {
			t.Errorf("a rejected account is not red: %q", with)
		}
		if stripped := colour.ReplaceAll(with, nil); !bytes.Equal(stripped, without) {
			t.Errorf("colours change the text: %q", stripped)
		}
	})
}
