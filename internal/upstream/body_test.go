package upstream

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"shunt/internal/wire"
)

// FO-7, WIRE-5: whatever the size and however it arrives, a body is kept as it came.
func TestReadBody(t *testing.T) {
	arrivals := map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "end with data": iotest.DataErrReader,
	}
	for _, size := range []int{0, 1, 4095, 4096, 4097, 100_000, 1 << 20, 3<<20 + 7} {
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		for name, arrive := range arrivals {
			for _, declared := range []int64{-1, int64(size)} {
				body, err := ReadBody(arrive(bytes.NewReader(want)), declared, 4<<20)
				if err != nil {
					t.Fatalf("%d bytes, %s, declared %d: %v", size, name, declared, err)
				}
				if !bytes.Equal(body.Bytes(), want) {
					t.Errorf("%d bytes, %s, declared %d: differ", size, name, declared)
				}
				body.Release()
			}
		}
	}
}

// RTE-2 and [server.limits]: a body over the limit is refused, announced or not; a broken one is an error.
func TestReadBodyLimit(t *testing.T) {
	if _, err := ReadBody(strings.NewReader(""), 11, 10); err != ErrTooLarge {
		t.Errorf("announced: %v", err)
	}
	if _, err := ReadBody(strings.NewReader("01234567890"), -1, 10); err != ErrTooLarge {
		t.Errorf("unannounced: %v", err)
	}
	if body, err := ReadBody(strings.NewReader("0123456789"), 10, 10); err != nil {
		t.Errorf("at the limit: %v", err)
	} else {
		body.Release()
	}
	broken := errors.New("broken")
	if _, err := ReadBody(iotest.ErrReader(broken), 5, 10); err != broken {
		t.Errorf("broken: %v", err)
	}
}

// A declared length reserves little before bytes have come.
func TestReadBodyReservesLittle(t *testing.T) {
	first := func(declared int64) int {
		var asked int
		ReadBody(readerFunc(func(p []byte) (int, error) { asked = len(p); return 0, io.ErrUnexpectedEOF }), declared, 1<<40)
		return asked
	}
	if n := first(1 << 30); n > presize {
		t.Errorf("%d bytes reserved", n)
	}
	if n := first(100_000); n < 100_000 {
		t.Errorf("%d bytes reserved for 100 000", n)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FO-7: every attempt sends the original bytes with its own edits, and the buffer outlives the last of them.
func TestAttemptsShareOneBody(t *testing.T) {
	text := strings.Repeat("x", 50_000) + "MODEL" + strings.Repeat("y", 50_000)
	body, err := ReadBody(strings.NewReader(text), int64(len(text)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	span := wire.Span{Start: 50_000, End: 50_005}
	var wg sync.WaitGroup
	for _, with := range []string{"", "a", "another model"} {
		p := newPayload(body, []wire.Edit{{Span: span, With: []byte(with)}})
		wg.Go(func() {
			got := string(bytes.Join(p.body, nil))
			if want := strings.Replace(text, "MODEL", with, 1); got != want || p.length != int64(len(want)) {
				t.Errorf("%q: %d of %d bytes", with, len(got), p.length)
			}
			p.release()
		})
	}
	body.Release()
	wg.Wait()
	if body.data != nil {
		t.Error("the buffer was not given back")
	}
}
