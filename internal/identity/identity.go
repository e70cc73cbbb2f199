// Package identity names what quota, cooldowns, refresh locks and health belong to (ID-1): an account as the provider
// knows it, however many entries of a configuration lead to it.
package identity

import "strings"

// Kind says what an identity is known by.
type Kind uint8

// The kinds, from the strongest knowledge to the weakest.
const (
	Unknown Kind = iota // the zero Key; never an account
	Verified
	StoreEntry
	Inline
)

// Key is an identity. It is comparable and equal on every machine for the same account; the zero Key is no account.
type Key struct {
	kind            Kind
	qualifier, name string
}

// OfAccount is the identity of an account whose UUID is known. Organization is empty unless the same UUID is held in
// two organizations (ID-1b).
func OfAccount(uuid, organization string) Key { return Key{Verified, organization, uuid} }

// OfStoreEntry is the identity of an entry of the account store whose UUID is unknown.
func OfStoreEntry(name string) Key { return Key{StoreEntry, "", name} }

// OfInline is the identity of a credential that is written into the configuration of one upstream and has no UUID.
func OfInline(upstream, name string) Key { return Key{Inline, upstream, name} }

// Kind says what the identity is known by.
func (k Key) Kind() Kind { return k.kind }

// Name is the UUID, the store entry's name or the inline account's name.
func (k Key) Name() string { return k.name }

// Qualifier is the organization of a verified identity, the upstream of an inline one, else empty.
func (k Key) Qualifier() string { return k.qualifier }

// IsZero reports whether k names no account.
func (k Key) IsZero() bool { return k.kind == Unknown }

// String is a stable text form, unique to the identity; rendezvous hashing (SEL-1) rests on it.
func (k Key) String() string {
	kind := [...]string{"unknown", "verified", "store", "inline"}[k.kind]
	return strings.Join([]string{kind, k.qualifier, k.name}, "\x1f")
}
