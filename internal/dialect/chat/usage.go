package chat

import (
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// readUsage reads a usage object, in which the prompt includes the tokens read from the cache and written to it (DIA-9). Vendors
// report the former in different places. It reports whether there was any.
func readUsage(u *dialect.Usage, object []byte) bool {
	var input, output, total, cached, written, reasoning int64
	known := false
	for members := wire.OpenObject(object); members.Next(); {
		switch {
		case members.Is("prompt_tokens"):
			known = count(&input, members.Raw()) || known
		case members.Is("completion_tokens"):
			known = count(&output, members.Raw()) || known
		case members.Is("total_tokens"):
			count(&total, members.Raw())
		case members.Is("cached_tokens"), members.Is("prompt_cache_hit_tokens"):
			count(&cached, members.Raw())
		case members.Is("prompt_tokens_details"):
			for details := wire.OpenObject(members.Raw()); details.Next(); {
				switch {
				case details.Is("cached_tokens"):
					count(&cached, details.Raw())
				case details.Is("cache_write_tokens"):
					count(&written, details.Raw())
				}
			}
		case members.Is("completion_tokens_details"):
			for details := wire.OpenObject(members.Raw()); details.Next(); {
				if details.Is("reasoning_tokens") {
					count(&reasoning, details.Raw())
				}
			}
		}
	}
	if !known {
		return false
	}
	if reasoning > 0 && total == input+output+reasoning { // some vendors do not count reasoning as output
		output += reasoning
	}
	cached = min(cached, input)
	written = min(written, input-cached)
	*u = dialect.Usage{Input: input - cached - written, Output: output, CacheRead: cached, CacheCreation: written, Known: true}
	return true
}

// count reads a number that is an integer and not negative.
func count(field *int64, raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return false
	}
	*field = n
	return true
}
