package wire

// Array walks the elements of a JSON array in place, as [Object] walks members. The zero Array has none.
type Array struct {
	Value Span  // of the element that was read
	Err   error // why Next returned false; nil at the closing bracket

	src   []byte
	pos   int
	begun bool
}

// ArrayAt starts at the bracket at i. If there is none, the array has no elements, and Err is [ErrNotArray].
func ArrayAt(src []byte, i int) Array {
	if i >= len(src) || src[i] != '[' {
		return Array{Err: ErrNotArray}
	}
	return Array{src: src, pos: i + 1}
}

// Next reads one element.
func (a *Array) Next() bool {
	if a.Err != nil || a.src == nil {
		return false
	}
	i := SkipSpace(a.src, a.pos)
	if i < len(a.src) && a.src[i] == ']' {
		a.pos, a.src = i+1, nil
		return false
	}
	if a.begun {
		if i < len(a.src) && a.src[i] != ',' {
			return a.fail(ErrMalformed)
		}
		i = SkipSpace(a.src, min(i+1, len(a.src)))
	}
	a.begun = true
	end := SkipValue(a.src, i)
	if end < 0 || i == len(a.src) {
		return a.fail(ErrTruncated)
	}
	if end == i {
		return a.fail(ErrMalformed)
	}
	a.Value, a.pos = Span{i, end}, end
	return true
}

// End returns the position after what was read: when Next has returned false without an error, after the closing bracket.
func (a *Array) End() int { return a.pos }

func (a *Array) fail(err error) bool {
	a.Err = err
	return false
}
