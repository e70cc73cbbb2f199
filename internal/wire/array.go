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
func (a *Array) Next() bool { return a.NextStart() && a.SkipTo(SkipValue(a.src, a.Value.Start)) }

// NextStart finds where the next element starts. The caller skips it.
func (a *Array) NextStart() bool {
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
	if a.begun = true; i == len(a.src) {
		return a.fail(ErrTruncated)
	}
	a.Value.Start = i
	return true
}

// SkipTo ends the element that was found: at end, the result of [SkipValue].
func (a *Array) SkipTo(end int) bool {
	if end < 0 {
		return a.fail(ErrTruncated)
	}
	if end == a.Value.Start {
		return a.fail(ErrMalformed)
	}
	a.Value.End, a.pos = end, end
	return true
}

// End returns the position after what was read: when Next has returned false without an error, after the closing bracket.
func (a *Array) End() int { return a.pos }

func (a *Array) fail(err error) bool {
	a.Err = err
	return false
}
