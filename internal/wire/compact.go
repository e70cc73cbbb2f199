package wire

// AppendCompact appends valid JSON without the white space between its tokens.
func AppendCompact(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		switch src[i] {
		case ' ', '\n', '\r', '\t':
			i++
		case '"':
			end := skipString(src, i)
			if end < 0 {
				return append(dst, src[i:]...)
			}
			dst = append(dst, src[i:end]...)
			i = end
		default:
			dst = append(dst, src[i])
			i++
		}
	}
	return dst
}

// IsCompact reports whether valid JSON has no white space between its tokens.
func IsCompact(src []byte) bool {
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case ' ', '\n', '\r', '\t':
			return false
		case '"':
			end := skipString(src, i)
			if end < 0 {
				return true
			}
			i = end - 1
		}
	}
	return true
}
