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
	family          string
	kind            Kind
	qualifier, name string
}

// OfAccount returns the identity of an account of a family whose UUID is known. Organization is empty unless the same UUID
// is held in two organizations (ID-1b).
func OfAccount(family, uuid, organization string) Key {
	return Key{family, Verified, organization, uuid}
}

// OfStoreEntry returns the identity of an entry of a family's account store whose UUID is unknown.
func OfStoreEntry(family, name string) Key { return Key{family, StoreEntry, "", name} }

// OfInline returns the identity of a credential that is written into the configuration of one upstream and has no UUID.
func OfInline(family, upstream, name string) Key { return Key{family, Inline, upstream, name} }

// Family returns the name of the family of the account, as the account store and the state file write it.
func (k Key) Family() string { return k.family }

// Kind says what the identity is known by.
func (k Key) Kind() Kind { return k.kind }

// Name is the UUID, the store entry's name or the inline account's name.
func (k Key) Name() string { return k.name }

// Qualifier is the organization of a verified identity, the upstream of an inline one, else empty.
func (k Key) Qualifier() string { return k.qualifier }

// IsZero reports whether k names no account.
func (k Key) IsZero() bool { return k.kind == Unknown }

// String returns a stable text form, unique to the identity.
func (k Key) String() string { return k.family + "\x1f" + k.Account() }

// Account returns the text form without the family. It is unique among the accounts of one family, and rendezvous hashing
// (SEL-1) rests on it.
func (k Key) Account() string {
	kind := [...]string{"unknown", "verified", "store", "inline"}[k.kind]
	return strings.Join([]string{kind, k.qualifier, k.name}, "\x1f")
}
