package wire

// maxDepth is how deeply values may be nested, as for encoding/json.
const maxDepth = 10_000

// Valid reports whether src is one JSON value, as [encoding/json.Valid] does, in a fraction of its time.
func Valid(src []byte) bool {
	var buf [128]byte
	open := buf[:0] // the brackets that are open
	i := SkipSpace(src, 0)
	for {
		// A value starts at i.
		if i == len(src) {
			return false
		}
		switch c := src[i]; c {
		case '{', '[':
			if len(open) == maxDepth {
				return false
			}
			open = append(open, c)
			i = SkipSpace(src, i+1)
			if i < len(src) && src[i] == c+2 { // the bracket that closes c
				break
			}
			if c == '[' {
				continue
			}
			if i = validKey(src, i); i < 0 {
				return false
			}
			continue
		case '"':
			if i = validString(src, i); i < 0 {
				return false
			}
		default:
			if i = validScalar(src, i); i < 0 {
				return false
			}
		}
		// A value has ended at i, or a container is closed there.
		for {
			i = SkipSpace(src, i)
			if len(open) == 0 {
				return i == len(src)
			}
			if i == len(src) {
				return false
			}
			last := open[len(open)-1]
			if src[i] == last+2 {
				open = open[:len(open)-1]
				i++
				continue
			}
			if src[i] != ',' {
				return false
			}
			i = SkipSpace(src, i+1)
			if last == '{' {
				if i = validKey(src, i); i < 0 {
					return false
				}
			}
			break
		}
	}
}

// validKey returns the position of the value after the key at i, or -1.
func validKey(src []byte, i int) int {
	if i == len(src) || src[i] != '"' {
		return -1
	}
	if i = validString(src, i); i < 0 {
		return -1
	}
	if i = SkipSpace(src, i); i == len(src) || src[i] != ':' {
		return -1
	}
	return SkipSpace(src, i+1)
}

// validString returns the end of the literal at i, or -1.
func validString(src []byte, i int) int {
	for i++; i < len(src); {
		if i += plain(src[i:]); i == len(src) {
			break
		}
		switch c := src[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			_, size := escape(src[i:])
			if size == 0 {
				return -1
			}
			i += size
		default:
			i++
		}
	}
	return -1
}

// validScalar returns the end of the number, true, false or null at i, or -1.
func validScalar(src []byte, i int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if src[i] == word[0] {
			if len(src)-i < len(word) || string(src[i:i+len(word)]) != word {
				return -1
			}
			return i + len(word)
		}
	}
	if src[i] == '-' {
		i++
	}
	switch digits := digitsEnd(src, i); {
	case digits == i, src[i] == '0' && digits > i+1:
		return -1
	default:
		i = digits
	}
	if i < len(src) && src[i] == '.' {
		digits := digitsEnd(src, i+1)
		if digits == i+1 {
			return -1
		}
		i = digits
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		digits := digitsEnd(src, i)
		if digits == i {
			return -1
		}
		i = digits
	}
	return i
}

func digitsEnd(src []byte, i int) int {
	for i < len(src) && '0' <= src[i] && src[i] <= '9' {
		i++
	}
	return i
}
