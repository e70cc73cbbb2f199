package http1

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// body reads the body of a response up to its end. It returns the bytes that have arrived rather than wait for more, however
// the peer divides them into chunks (WIRE-11).
type body struct {
	from    *bufio.Reader
	framed  framing
	left    int64 // bytes left of the body (byLength) or of the chunk (byChunks)
	inChunk bool  // the end of the chunk has not been read, although its bytes may have been
	trailer bool  // only what follows the last chunk is left
	excess  int64 // bytes around the chunks beyond what is allowed for each
}

func newBody(r *bufio.Reader, h *head) body {
	return body{from: r, framed: h.framed, left: max(h.length, 0)}
}

// empty reports whether there is no body.
func (b *body) empty() bool { return b.framed == byLength && b.left == 0 }

// Read returns io.EOF at the end of the body, with its last bytes if the end has arrived with them, and io.ErrUnexpectedEOF if
// the connection ends before the body.
func (b *body) Read(p []byte) (n int, err error) {
	switch b.framed {
	case byClose:
		return b.from.Read(p)
	case byChunks:
		return b.readChunks(p)
	}
	n, err = b.readLeft(p)
	if b.left == 0 {
		return n, io.EOF
	}
	return n, unexpectedEOF(err)
}

func (b *body) readLeft(p []byte) (n int, err error) {
	n, err = b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// readChunks reads as many chunks as have arrived and as fit into p.
func (b *body) readChunks(p []byte) (n int, err error) {
	for !b.trailer {
		if b.left > 0 {
			if n == len(p) || n > 0 && b.from.Buffered() == 0 {
				return n, nil
			}
			m, err := b.readLeft(p[n:])
			if n += m; err != nil {
				return n, unexpectedEOF(err)
			}
			continue
		}
		if n > 0 && !b.hasLines() {
			return n, nil
		}
		if err := b.nextChunk(); err != nil {
			return n, unexpectedEOF(err)
		}
	}
	if n > 0 && !bytes.HasPrefix(b.ahead(), []byte("\r\n")) {
		return n, nil
	}
	return n, b.skipTrailer()
}

// ahead returns the bytes that have arrived and have not been read.
func (b *body) ahead() []byte {
	p, _ := b.from.Peek(b.from.Buffered())
	return p
}

// hasLines reports whether what separates two chunks has arrived: the end of one and the size of the next.
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

// nextChunk reads what separates two chunks.
func (b *body) nextChunk() error {
	if b.inChunk {
		line, err := b.from.ReadSlice('\n')
		if err == nil && string(line) != "\r\n" {
			err = errChunk
		}
		if err != nil {
			return lineError(err)
		}
		b.inChunk = false
	}
	line, err := b.from.ReadSlice('\n')
	if err != nil {
		return lineError(err)
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

// lineError returns err, with that of a line too long replaced by errChunk.
func lineError(err error) error {
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
			return unexpectedEOF(lineError(err))
		case whole && len(line) == 0:
			return io.EOF
		}
		if _, _, ok := parseField(string(line)); !ok || !whole {
			return errHeaderField
		}
	}
	return errHeadTooLong
}
