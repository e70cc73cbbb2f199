package messages

import (
	"strconv"

	"shunt/internal/wire"
)

// Usage is what an answer says it cost, in tokens.
type Usage struct {
	Input, Output, CacheRead, CacheCreation int64
	Known                                   bool // whether the answer said anything
}

// read takes the counts that a usage object holds; others stay. Counts are cumulative: a later one replaces an earlier.
func (u *Usage) read(object []byte) {
	members := wire.OpenObject(object)
	for members.Next() {
		var field *int64
		switch {
		case members.Is("input_tokens"):
			field = &u.Input
		case members.Is("output_tokens"):
			field = &u.Output
		case members.Is("cache_read_input_tokens"):
			field = &u.CacheRead
		case members.Is("cache_creation_input_tokens"):
			field = &u.CacheCreation
		default:
			continue
		}
		if n, ok := count(members.Raw()); ok {
			*field, u.Known = n, true
		}
	}
}

// maxHeld bounds, in bytes, each piece of an answer that a meter holds back until it is whole.
const maxHeld = 24 << 10

// hold appends as much of p as the bound allows.
func hold(dst, p []byte) []byte { return append(dst, p[:min(len(p), maxHeld-len(dst))]...) }

// count reads a JSON number that counts something; false unless it is a whole number that is not negative.
func count(number []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(number), 10, 64)
	return n, err == nil && n >= 0
}
