package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// maxLine is the most bytes of an answer.
const maxLine = 64 << 10

// console asks whoever is at standard input: a person at a terminal, or a program that writes lines.
type console struct {
	in  *os.File
	out io.Writer // where the questions go
}

func (c console) interactive() bool { return isTerminal(c.in) }

// ask asks for a line, which a terminal does not show if it is hidden. The error is [io.EOF] if there is none. The end of
// ctx ends the wait and leaves the terminal as it was; the read itself cannot be ended and takes one more line with it.
func (c console) ask(ctx context.Context, prompt string, hidden bool) (string, error) {
	fmt.Fprint(c.out, prompt)
	hidden = hidden && c.interactive()
	fd := int(c.in.Fd())
	before, _ := term.GetState(fd) // none: no terminal
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		if hidden {
			line, err := term.ReadPassword(fd)
			answers <- answer{string(line), err}
			return
		}
		line, err := readLine(c.in)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		if hidden || !c.interactive() {
			fmt.Fprintln(c.out) // no terminal has shown the end of the line
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

// readLine reads up to the end of a line and not a byte more, so that what follows is left for the next question.
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
