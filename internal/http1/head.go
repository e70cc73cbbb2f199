package http1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// ErrMalformed reports a response that cannot be parsed.
var ErrMalformed = errors.New("the response is not HTTP/1")

var (
	errStatusLine  = fmt.Errorf("%w: it has no status line", ErrMalformed)
	errHeaderField = fmt.Errorf("%w: it has a malformed header line", ErrMalformed)
	errHeadTooLong = fmt.Errorf("%w: its head is too long", ErrMalformed)
	errLength      = fmt.Errorf("%w: it has contradicting lengths", ErrMalformed)
	errCoding      = fmt.Errorf("%w: it has an unknown transfer coding", ErrMalformed)
	errChunk       = fmt.Errorf("%w: it has a malformed chunk", ErrMalformed)

	errChunkOverhead = fmt.Errorf("%w: its chunks are mostly something other than data", ErrMalformed)
)

// head is the head of a response (RFC 9112). Faults such as a folded line or two lengths are not repaired: a wrong guess would
// mistake the end of one response for the beginning of another.
type head struct {
	status int
	header http.Header
	length int64 // of the body in bytes; -1 if unknown
	framed framing
	reuse  bool // the connection may carry another request
}

// framing is how the end of a response's body is found.
type framing uint8

const (
	byLength framing = iota
	byChunks
	byClose // of the connection
)

// keptBlock is the size in bytes of the largest block that is reused; longer heads are rare.
const keptBlock = 64 << 10

// blocks hold heads while they are read.
var blocks = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// readHead reads a head and the empty line after it.
func readHead(r *bufio.Reader) (head, error) {
	room := blocks.Get().(*[]byte)
	block := (*room)[:0]
	defer func() {
		if cap(block) <= keptBlock {
			*room = block
			blocks.Put(room)
		}
	}()
	if start, err := r.Peek(len(protocol)); string(start) != protocol {
		if len(start) < len(protocol) && err != nil {
			return head{}, unexpectedEOF(err)
		}
		return head{}, errStatusLine
	}
	lines, begun := 0, 0 // begun is the index of the current line
	for {
		part, err := r.ReadSlice('\n')
		block = append(block, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return head{}, unexpectedEOF(err)
		}
		if line := block[begun:]; len(line) == 1 || len(line) == 2 && line[0] == '\r' {
			return parseHead(string(block[:begun]), lines)
		}
		lines, begun = lines+1, len(block)
	}
}

const protocol = "HTTP/1." // what every response begins with

// unexpectedEOF returns err, with io.EOF replaced by io.ErrUnexpectedEOF.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseHead parses lines that end with LF or CRLF each.
func parseHead(text string, lines int) (h head, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	version, status, ok := parseStatus(strings.TrimSuffix(first, "\r"))
	if !ok {
		return head{}, errStatusLine
	}
	h.status = status
	h.header = make(http.Header, lines)
	values := make([]string, 0, lines)
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		name, value, ok := parseField(strings.TrimSuffix(line, "\r"))
		if !ok {
			return head{}, errHeaderField
		}
		if before := h.header[name]; before != nil {
			h.header[name] = append(before, value)
			continue
		}
		values = append(values, value)
		h.header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	return h, h.frame(version)
}

func parseStatus(line string) (version byte, status int, ok bool) {
	const form = "HTTP/1.1 200"
	if len(line) < len(form) || !strings.HasPrefix(line, protocol) || line[8] != ' ' || len(line) > len(form) && line[len(form)] != ' ' {
		return 0, 0, false
	}
	digits := line[9:len(form)]
	if version = line[7]; version != '0' && version != '1' || !isDigits(digits) {
		return 0, 0, false
	}
	status, err := strconv.Atoi(digits)
	return version, status, err == nil
}

func parseField(line string) (name, value string, ok bool) {
	raw, value, ok := strings.Cut(line, ":")
	if !ok {
		return "", "", false
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return "", "", false
		}
	}
	name, ok = canonical(raw)
	return name, strings.Trim(value, " \t"), ok
}

// How many header names are remembered, and how long each may be in bytes.
const (
	maxNames = 256
	maxName  = 64
)

// names maps header names, as responses spell them, to their canonical form.
var names atomic.Pointer[map[string]string]

func canonical(raw string) (name string, ok bool) {
	known := names.Load()
	if known != nil {
		if name, ok = (*known)[raw]; ok {
			return name, true
		}
	}
	if raw == "" || strings.ContainsFunc(raw, func(r rune) bool { return !isTokenChar(r) }) {
		return "", false
	}
	name = textproto.CanonicalMIMEHeaderKey(strings.Clone(raw))
	if len(raw) > maxName {
		return name, true
	}
	more := map[string]string{strings.Clone(raw): name}
	if known != nil {
		if len(*known) >= maxNames {
			return name, true
		}
		maps.Copy(more, *known)
	}
	names.CompareAndSwap(known, &more) // a name that loses to another goroutine will be seen again
	return name, true
}

func isTokenChar(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// frame sets how the body ends, and whether the connection may be reused (RFC 9112, 6.3).
func (h *head) frame(version byte) error {
	connection := h.header["Connection"]
	h.reuse = !hasOption(connection, "close") && (version == '1' || hasOption(connection, "keep-alive"))
	codings, lengths := h.header["Transfer-Encoding"], h.header["Content-Length"]
	h.framed, h.length = byClose, -1
	if len(lengths) > 0 {
		n, err := strconv.ParseInt(lengths[0], 10, 64)
		if err != nil || !isDigits(lengths[0]) || slices.ContainsFunc(lengths, func(l string) bool { return l != lengths[0] }) {
			return errLength
		}
		h.framed, h.length = byLength, n
	}
	if len(codings) > 0 {
		if len(codings) > 1 || version == '0' || !strings.EqualFold(codings[0], "chunked") {
			return errCoding
		}
		h.framed, h.length = byChunks, -1
		h.reuse = h.reuse && len(lengths) == 0 // else the peer is not to be trusted
	}
	switch {
	case h.status == http.StatusNoContent, h.status == http.StatusNotModified:
		h.reuse = h.reuse && h.framed != byChunks && h.length <= 0 // else a body may follow, which is not allowed
		h.framed, h.length = byLength, 0
	case h.framed == byClose:
		h.reuse = false
	}
	return nil
}

// hasOption reports whether the lines of a Connection header contain an option.
func hasOption(lines []string, option string) bool {
	for _, line := range lines {
		for o := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(o), option) {
				return true
			}
		}
	}
	return false
}
