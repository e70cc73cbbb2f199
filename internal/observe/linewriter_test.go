package observe

import (
	"bytes"
	"errors"
	"testing"
)

// room accepts a number of bytes, then fails.
type room struct {
	bytes.Buffer
	left int
}

var errFull = errors.New("full")

func (r *room) Write(p []byte) (int, error) {
	n := min(len(p), r.left)
	r.left -= n
	r.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// A write that ends in the middle of a line affects only that line.
func TestLineWriterKeepsLinesWhole(t *testing.T) {
	disk := &room{left: 6}
	out := lineWriter{w: disk}
	for _, step := range []struct {
		room  int // bytes that become free before the write
		batch string
		lost  int
	}{
		{0, "one\ntwo\nthree\n", 2},
		{0, "four\nfive\n", 2},
		{1, "six\n", 1},
		{100, "seven\n", 0},
		{-93, "eight\n", 1},
		{100, "nine\n", 0},
	} {
		disk.left += step.room
		lost, err := out.write([]byte(step.batch))
		if lost != step.lost || (err != nil) != (lost > 0) {
			t.Errorf("%q: lost %d, %v", step.batch, lost, err)
		}
	}
	if got, want := disk.String(), "one\ntw\nseven\ne\nnine\n"; got != want {
		t.Errorf("file: %q", got)
	}
}
