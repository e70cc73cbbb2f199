package dialect

import (
	"crypto/rand"
	"encoding/hex"
)

// NewID returns an ID that no other response has: the prefix and 24 random digits (DIA-4).
func NewID(prefix string) string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // it never fails
	return prefix + hex.EncodeToString(random[:])
}
