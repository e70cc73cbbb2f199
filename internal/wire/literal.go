package wire

import (
	"bytes"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// char decodes the first character of s, the inside of a JSON string literal, and returns its size in raw bytes, or 0 if it is
// malformed. Like encoding/json it reads ill-formed UTF-8 and lone surrogates as U+FFFD.
func char(s []byte) (r rune, size int) {
	switch c := s[0]; {
	case c == '\\':
		return escape(s)
	case c < ' ':
		return 0, 0
	case c < utf8.RuneSelf:
		return rune(c), 1
	}
	return utf8.DecodeRune(s)
}

func escape(s []byte) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	unit, ok := hexEscape(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(unit) {
		return unit, 6
	}
	if low, ok := hexEscape(s[6:]); ok {
		if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 6
}

// hexEscape decodes the \uXXXX at the beginning of s.
func hexEscape(s []byte) (unit rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// NoLimit makes Unescape decode a whole literal.
const NoLimit = math.MaxInt - 1

// Unescape appends the text of a literal's inside to dst, which must be empty. It reports false if the inside is malformed. It
// stops when the text is longer than limit, by at most [utf8.UTFMax] bytes.
func Unescape(dst, inside []byte, limit int) ([]byte, bool) {
	for {
		n := plain(inside[:min(len(inside), limit+1-len(dst))])
		dst, inside = append(dst, inside[:n]...), inside[n:]
		if len(inside) == 0 || len(dst) > limit {
			return dst, true
		}
		r, size := char(inside)
		if size == 0 {
			return dst, false
		}
		dst = utf8.AppendRune(dst, r)
		inside = inside[size:]
		if len(dst) > limit {
			return dst, true
		}
	}
}

// RawOffset converts an offset in the text that Unescape returned to an offset in the inside.
func RawOffset(inside []byte, text int) int {
	raw := 0
	for {
		n := min(plain(inside[raw:]), text)
		raw += n
		if text -= n; text == 0 {
			return raw
		}
		r, size := char(inside[raw:])
		raw += size
		text -= utf8.RuneLen(r)
	}
}

// Spells reports whether a literal's inside is an ASCII name, with or without escapes.
func Spells(inside []byte, name string) bool {
	if len(inside) <= len(name) {
		return string(inside) == name
	}
	if bytes.IndexByte(inside, '\\') < 0 {
		return false
	}
	for i := range len(name) {
		if len(inside) == 0 {
			return false
		}
		r, size := char(inside)
		if size == 0 || r != rune(name[i]) {
			return false
		}
		inside = inside[size:]
	}
	return len(inside) == 0
}

// AppendQuoted appends s as a JSON string literal with as few escapes as JSON allows; ill-formed UTF-8 becomes U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // what precedes it is in dst
	for i := plainString(s); i < len(s); i += plainString(s[i:]) {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = utf8.AppendRune(append(dst, s[done:i]...), r)
				done = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[done:i]...)
		i++
		done = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[done:]...), '"')
}

const hexDigits = "0123456789abcdef"

// Quote returns s as a JSON string literal; see [AppendQuoted].
func Quote(s string) []byte {
	return AppendQuoted(make([]byte, 0, len(s)+2), s)
}
