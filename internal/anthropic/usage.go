package anthropic

// Usage is what an answer says it cost, in tokens.
type Usage struct {
	Input, Output, CacheRead, CacheCreation int64
	Known                                   bool // whether the answer said anything
}

// read takes the counts that a usage object holds; others stay. Counts are cumulative: a later one replaces an earlier.
func (u *Usage) read(object []byte) {
	members := openObject(object)
	for members.next() {
		var field *int64
		switch {
		case members.is("input_tokens"):
			field = &u.Input
		case members.is("output_tokens"):
			field = &u.Output
		case members.is("cache_read_input_tokens"):
			field = &u.CacheRead
		case members.is("cache_creation_input_tokens"):
			field = &u.CacheCreation
		default:
			continue
		}
		if n, ok := count(members.raw()); ok {
			*field, u.Known = n, true
		}
	}
}

// maxHeld bounds, in bytes, each piece of an answer that a meter holds back until it is whole.
const maxHeld = 24 << 10

// hold appends as much of p as the bound allows.
func hold(dst, p []byte) []byte { return append(dst, p[:min(len(p), maxHeld-len(dst))]...) }
