package messages

import (
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// readUsage updates u with the counts of a usage object. Counts are cumulative: a later one replaces an earlier one.
func readUsage(u *dialect.Usage, object []byte) {
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

// maxHeld is the maximum size, in bytes, of each piece of a response that a meter holds until it is complete.
const maxHeld = 24 << 10

// hold appends as much of p as maxHeld allows.
func hold(dst, p []byte) []byte { return append(dst, p[:min(len(p), maxHeld-len(dst))]...) }

// count parses a JSON number. It reports false unless that is an integer and not negative.
func count(number []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(number), 10, 64)
	return n, err == nil && n >= 0
}
