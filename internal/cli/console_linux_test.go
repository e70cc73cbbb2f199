package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a pseudo-terminal: a person types into keys, and sees what comes out of it.
type pty struct {
	*testing.T
	keys, tty *os.File
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keys.Close() })
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return &pty{t, keys, tty}
}

func (v *pty) echoes() bool {
	state, err := unix.IoctlGetTermios(int(v.tty.Fd()), unix.TCGETS)
	if err != nil {
		v.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

func (v *pty) types(text string) {
	v.Helper()
	if _, err := v.keys.WriteString(text); err != nil {
		v.Fatal(err)
	}
}

// shown returns everything that the person has seen.
func (v *pty) shown() string {
	v.Helper()
	const end = "[end]"
	if _, err := v.tty.WriteString(end); err != nil {
		v.Fatal(err)
	}
	var seen []byte
	for b := make([]byte, 100); !bytes.HasSuffix(seen, []byte(end)); {
		n, err := v.keys.Read(b)
		if err != nil {
			v.Fatal(err)
		}
		seen = append(seen, b[:n]...)
	}
	return strings.TrimSuffix(string(seen), end)
}

type asked struct {
	line string
	err  error
}

// ask starts a prompt, and returns when the person can type.
func (v *pty) ask(ctx context.Context, hidden bool) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		line, err := console{v.tty, v.tty}.ask(ctx, "Code: ", hidden)
		done <- asked{line, err}
	}()
	for range 1000 {
		if v.echoes() != hidden {
			return done
		}
		time.Sleep(10 * time.Millisecond)
	}
	v.Fatal("the terminal still shows what is typed")
	return nil
}

// LOG-3: a terminal does not show the code, and shows everything again afterwards.
func TestHiddenPrompt(t *testing.T) {
	v := newPTY(t)
	done := v.ask(t.Context(), true)
	v.types("planted#code\n")
	if got := <-done; got != (asked{"planted#code", nil}) {
		t.Errorf("%+v", got)
	}
	if shown := v.shown(); shown != "Code: \r\n" {
		t.Errorf("shown %q", shown)
	}
	done = v.ask(t.Context(), false)
	v.types("2\n")
	if got := <-done; got != (asked{"2", nil}) {
		t.Errorf("%+v", got)
	}
	if shown := v.shown(); !strings.Contains(shown, "2\r\n") {
		t.Errorf("shown %q", shown)
	}
}

// LOG-3: after an interrupted hidden prompt, a terminal shows what a person types again.
func TestHiddenPromptInterrupted(t *testing.T) {
	v := newPTY(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := v.ask(ctx, true)
	cancel()
	if got := <-done; !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v", got)
	}
	if !v.echoes() {
		t.Error("the terminal shows nothing any more")
	}
	v.types("\n") // ends the read
}
