package wire

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special returns a word whose lowest set bit is in the first byte, in memory order, that is not a plain one.
func special(word uint64) uint64 {
	quote, backslash := word^('"'*ones), word^('\\'*ones)
	return (word | (word-' '*ones)&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

func isPlainByte(c byte) bool { return c >= ' ' && c < 0x80 && c != '"' && c != '\\' }

// plain returns the number of bytes at the beginning of src that are plain: ASCII characters that need no escape in a literal.
func plain(src []byte) int {
	i := 0
	for ; len(src)-i >= 8; i += 8 {
		if s := special(binary.LittleEndian.Uint64(src[i:])); s != 0 {
			return i + bits.TrailingZeros64(s)/8
		}
	}
	for i < len(src) && isPlainByte(src[i]) {
		i++
	}
	return i
}

// plainString is [plain] for a string.
func plainString(src string) int {
	i := 0
	for ; len(src)-i >= 8; i += 8 {
		s := src[i : i+8]
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if s := special(word); s != 0 {
			return i + bits.TrailingZeros64(s)/8
		}
	}
	for i < len(src) && isPlainByte(src[i]) {
		i++
	}
	return i
}

// IsPlain reports whether a literal's inside is its text, byte for byte, and in ASCII.
func IsPlain(inside []byte) bool { return plain(inside) == len(inside) }
