package messages

import "shunt/internal/wire"

// QuoteAccountUUID is an account's UUID as it replaces [Request.AccountUUID]: a string literal inside a string literal,
// so with escaped quotes (WIRE-6).
func QuoteAccountUUID(uuid string) []byte {
	var buf [64]byte
	inner := wire.AppendQuoted(buf[:0], uuid)
	outer := wire.AppendQuoted(make([]byte, 0, len(inner)+4), string(inner))
	return outer[1 : len(outer)-1]
}
