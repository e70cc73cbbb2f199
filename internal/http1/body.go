package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
)

// body reads the body of an answer to its end and no further.
type body struct {
	from    *bufio.Reader
	framed  framing
	left    int64     // bytes, by length
	chunks  io.Reader // by chunks
	trailer bool      // what is left is what follows the last chunk
}

func newBody(r *bufio.Reader, h *head) body {
	b := body{from: r, framed: h.framed, left: h.length}
	if h.framed == byChunks {
		b.chunks = httputil.NewChunkedReader(r)
	}
	return b
}

// empty reports whether there is none.
func (b *body) empty() bool { return b.framed == byLength && b.left == 0 }

// Read returns io.EOF at the end of the body, with its last bytes if it is known by then, and io.ErrUnexpectedEOF where the
// connection ends before it.
func (b *body) Read(p []byte) (n int, err error) {
	switch b.framed {
	case byEnd:
		return b.from.Read(p)
	case byChunks:
		return b.readChunks(p)
	}
	n, err = b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case b.left == 0:
		return n, io.EOF
	case err == io.EOF:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *body) readChunks(p []byte) (n int, err error) {
	if !b.trailer {
		n, err = b.chunks.Read(p)
		b.trailer = err == io.EOF
		if err != io.EOF || n > 0 && b.from.Buffered() < 2 { // nobody waits for the trailer with bytes in hand
			return n, clean(err, io.EOF)
		}
	}
	return n, b.skipTrailer()
}

// clean is err unless that is expected.
func clean(err, expected error) error {
	if err == expected {
		return nil
	}
	return err
}

// skipTrailer reads what follows the last chunk: header lines up to an empty one.
func (b *body) skipTrailer() error {
	for budget := maxHead; budget > 0; {
		line, err := b.from.ReadSlice('\n')
		budget -= len(line)
		line, whole := bytes.CutSuffix(line, []byte("\r\n"))
		switch {
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case whole && len(line) == 0:
			return io.EOF
		}
		if _, _, ok := parseField(string(line)); !ok || !whole {
			return errHeaderField
		}
	}
	return errHeadTooLong
}
