package pool

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"shunt/internal/identity"
)

// Session identifies a conversation: a hash of the client's session ID, the same on every machine (SEL-1). The zero Session
// means that the request has none.
type Session uint64

// SessionOf hashes a session ID as the client sent it. A blank ID does not identify a conversation (SEL-2).
func SessionOf(id string) Session {
	if strings.TrimSpace(id) == "" {
		return 0
	}
	return Session(max(hash(id), 1))
}

// String returns eight hex digits: enough to follow a session through a log, too few to recover its ID.
func (s Session) String() string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(s>>32))
	return hex.EncodeToString(b[:])
}

// seedOf returns the identity's half of every rendezvous weight. It is computed once, when a pool is configured.
func seedOf(key identity.Key) uint64 { return hash(key.Account()) }

func hash(s string) uint64 {
	var buf [64]byte // for a session ID
	sum := sha256.Sum256(append(buf[:0], s...))
	return binary.BigEndian.Uint64(sum[:8])
}

// weight returns the rendezvous weight of a session on an identity. Both halves are uniform already; the finalizer of
// splitmix64 makes the weights of one session on different identities independent of each other.
func weight(s Session, seed uint64) uint64 {
	x := uint64(s) ^ seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
