package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// maxLine is the maximum length of an input line, in bytes.
const maxLine = 64 << 10

// console prompts for lines on standard input, from a person at a terminal or a program.
type console struct {
	in  *os.File
	out io.Writer // for the prompts
}

func (c console) interactive() bool { return isTerminal(c.in) }

// ask prompts for a line. If hidden, a terminal does not show it. The error is [io.EOF] at the end of the input. When ctx ends, ask
// restores the terminal and returns; the read itself cannot be canceled and consumes one more line.
func (c console) ask(ctx context.Context, prompt string, hidden bool) (string, error) {
	fmt.Fprint(c.out, prompt)
	hidden = hidden && c.interactive()
	fd := int(c.in.Fd())
	before, _ := term.GetState(fd) // nil if this is not a terminal
	type input struct {
		line string
		err  error
	}
	inputs := make(chan input, 1)
	go func() {
		if hidden {
			line, err := term.ReadPassword(fd)
			inputs <- input{string(line), err}
			return
		}
		line, err := readLine(c.in)
		inputs <- input{line, err}
	}()
	select {
	case a := <-inputs:
		if hidden || !c.interactive() {
			fmt.Fprintln(c.out) // no terminal has echoed the end of the line
		}
		return a.line, a.err
	case <-ctx.Done():
		if before != nil {
			_ = term.Restore(fd, before)
		}
		fmt.Fprintln(c.out)
		return "", ctx.Err()
	}
}

// readLine reads a line and not a byte more, so that the rest of the input is left for the next prompt.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxLine; {
		n, err := r.Read(b)
		switch {
		case n > 0 && b[0] == '\n':
			return string(line), nil
		case n > 0:
			line = append(line, b[0])
		case err == io.EOF && len(line) > 0:
			return string(line), nil
		case err != nil:
			return "", err
		}
	}
	return "", fmt.Errorf("the line has more than %d bytes", maxLine)
}
