package dialect

import (
	"bytes"
	"unicode/utf16"

	"shunt/internal/wire"
)

// Unwrapper takes the input of a custom tool out of the JSON object in which a dialect without custom tools gives it,
// {"input": "..."}, as the pieces of that arrive. The division into pieces makes no difference. Arguments of another form are
// passed as they are. The zero value is ready to use.
type Unwrapper struct {
	state unwrapState
	held  []byte // what is not decoded yet: the beginning of the object, or of an escape
}

type unwrapState uint8

const (
	beforeInput unwrapState = iota
	inInput
	afterInput
	verbatim
)

// maxUnwrapped is how much of the arguments, in bytes, may precede the input.
const maxUnwrapped = 256

// Append appends what a piece of the arguments adds to the input.
func (u *Unwrapper) Append(dst, piece []byte) []byte {
	switch u.state {
	case verbatim:
		return append(dst, piece...)
	case afterInput:
		return dst
	}
	u.held = append(u.held, piece...)
	if u.state == beforeInput {
		n, complete := inputStart(u.held)
		switch {
		case n > 0:
			u.state, u.held = inInput, u.held[n:]
		case complete || len(u.held) > maxUnwrapped:
			u.state = verbatim
			dst = append(dst, u.held...)
			u.held = nil
			return dst
		default:
			return dst
		}
	}
	return u.decode(dst)
}

// End appends what the end of the arguments adds.
func (u *Unwrapper) End(dst []byte) []byte {
	if u.state == beforeInput {
		dst = append(dst, u.held...)
	}
	u.held = nil
	return dst
}

// inputStart returns the position after the quote that opens the input, or 0. Complete reports whether no more bytes can change
// that.
func inputStart(text []byte) (n int, complete bool) {
	i := wire.SkipSpace(text, 0)
	for _, token := range [...]string{"{", `"input"`, ":", `"`} {
		have := text[i:]
		if len(have) < len(token) {
			return 0, !bytes.HasPrefix([]byte(token), have)
		}
		if string(have[:len(token)]) != token {
			return 0, true
		}
		i += len(token)
		if token != `"` {
			i = wire.SkipSpace(text, i)
		}
	}
	return i, true
}

// decode appends what can be decoded of the held bytes.
func (u *Unwrapper) decode(dst []byte) []byte {
	text := u.held
	for len(text) > 0 {
		n := bytes.IndexAny(text, `"\`)
		if n < 0 {
			dst, text = append(dst, text...), nil
			break
		}
		dst, text = append(dst, text[:n]...), text[n:]
		if text[0] == '"' {
			u.state, text = afterInput, nil
			break
		}
		size := escapeSize(text)
		if size > len(text) {
			break
		}
		var buf [16]byte
		decoded, _ := wire.Unescape(buf[:0], text[:size], wire.NoLimit)
		dst, text = append(dst, decoded...), text[size:]
	}
	u.held = append(u.held[:0], text...)
	return dst
}

// escapeSize returns the size of the escape at the beginning of text, in bytes: more than there are if it is not complete.
func escapeSize(text []byte) int {
	switch {
	case len(text) < 2 || text[1] != 'u':
		return 2
	case len(text) < 6:
		return 6
	}
	unit := rune(0)
	for _, c := range text[2:6] {
		unit = unit<<4 | hexValue(c)
	}
	if utf16.IsSurrogate(unit) && unit < 0xdc00 && (len(text) == 6 || text[6] == '\\' && (len(text) == 7 || text[7] == 'u')) {
		return 12
	}
	return 6
}

func hexValue(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 0
}
