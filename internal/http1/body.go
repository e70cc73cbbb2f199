package http1

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// body reads the body of an answer to its end and no further. It never waits with bytes in hand: what has come can be read,
// however the peer cuts it into chunks (WIRE-11).
type body struct {
	from    *bufio.Reader
	framed  framing
	left    int64 // bytes of the body by length, of the chunk by chunks
	inChunk bool  // the chunk's end is to come, though its bytes may be read
	trailer bool  // what is left is what follows the last chunk
	excess  int64 // bytes around the chunks beyond what is allowed for each
}

func newBody(r *bufio.Reader, h *head) body {
	return body{from: r, framed: h.framed, left: max(h.length, 0)}
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
	n, err = b.readLeft(p)
	if b.left == 0 {
		return n, io.EOF
	}
	return n, early(err)
}

func (b *body) readLeft(p []byte) (n int, err error) {
	n, err = b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// readChunks reads as many chunks as there are and as p takes.
func (b *body) readChunks(p []byte) (n int, err error) {
	for !b.trailer {
		if b.left > 0 {
			if n == len(p) || n > 0 && b.from.Buffered() == 0 {
				return n, nil
			}
			m, err := b.readLeft(p[n:])
			if n += m; err != nil {
				return n, early(err)
			}
			continue
		}
		if n > 0 && !b.hasLines() {
			return n, nil
		}
		if err := b.nextChunk(); err != nil {
			return n, early(err)
		}
	}
	if n > 0 && !bytes.HasPrefix(b.ahead(), []byte("\r\n")) {
		return n, nil
	}
	return n, b.skipTrailer()
}

// ahead is what has come and is not read.
func (b *body) ahead() []byte {
	p, _ := b.from.Peek(b.from.Buffered())
	return p
}

// hasLines reports whether what stands between two chunks has come: the end of the one, and the size of the next.
func (b *body) hasLines() bool {
	ahead := b.ahead()
	if b.inChunk {
		_, rest, ended := bytes.Cut(ahead, []byte("\n"))
		if !ended {
			return false
		}
		ahead = rest
	}
	return bytes.IndexByte(ahead, '\n') >= 0
}

// nextChunk reads what stands between two chunks.
func (b *body) nextChunk() error {
	if b.inChunk {
		line, err := b.from.ReadSlice('\n')
		if err == nil && string(line) != "\r\n" {
			err = errChunk
		}
		if err != nil {
			return unreadable(err)
		}
		b.inChunk = false
	}
	line, err := b.from.ReadSlice('\n')
	if err != nil {
		return unreadable(err)
	}
	size, ok := chunkSize(line)
	if !ok {
		return errChunk
	}
	if !b.allows(len(line), size) {
		return errChunkOverhead
	}
	b.left, b.inChunk, b.trailer = size, size > 0, size == 0
	return nil
}

// What may surround the data of chunks, in bytes: the sizes that net/http uses.
const (
	chunkOverhead = 16       // of each chunk, in addition to twice its data
	maxExcess     = 16 << 10 // of all chunks beyond that
)

// allows counts the line before a chunk of the given size, and reports whether such lines are still in proportion to the
// data: without a bound, extensions could make a response of any length cost a multiple of it.
func (b *body) allows(line int, size int64) bool {
	b.excess = max(b.excess+int64(line)-chunkOverhead-2*min(size, maxExcess), 0)
	return b.excess <= maxExcess
}

// unreadable is an error of a line that does not end.
func unreadable(err error) error {
	if err == bufio.ErrBufferFull {
		return errChunk
	}
	return err
}

// maxChunkDigits bounds the size of a chunk as net/http does, leading zeros included.
const maxChunkDigits = 16

// chunkSize parses the line before a chunk: hexadecimal digits and possibly an extension, which is ignored.
func chunkSize(line []byte) (size int64, ok bool) {
	line, ended := bytes.CutSuffix(line, []byte("\r\n"))
	if !ended || bytes.IndexByte(line, '\r') >= 0 {
		return 0, false
	}
	digits, _, _ := bytes.Cut(bytes.TrimRight(line, " \t"), []byte(";"))
	n, err := strconv.ParseUint(string(digits), 16, 63)
	return int64(n), err == nil && len(digits) <= maxChunkDigits
}

// maxTrailer bounds what follows the last chunk, in bytes.
const maxTrailer = 1 << 20

// skipTrailer reads what follows the last chunk: header lines up to an empty one.
func (b *body) skipTrailer() error {
	for budget := maxTrailer; budget > 0; {
		line, err := b.from.ReadSlice('\n')
		budget -= len(line)
		line, whole := bytes.CutSuffix(line, []byte("\r\n"))
		switch {
		case err != nil:
			return early(unreadable(err))
		case whole && len(line) == 0:
			return io.EOF
		}
		if _, _, ok := parseField(string(line)); !ok || !whole {
			return errHeaderField
		}
	}
	return errHeadTooLong
}
