// Package identity names accounts as the provider knows them (ID-1), however many entries of a configuration refer to one.
// Quota, cooldowns, refresh leases and health belong to an identity.
package identity

import "strings"

// Kind is the kind of name that an identity has.
type Kind uint8

// The kinds, from the most certain to the least.
const (
	Unknown    Kind = iota // of the zero Key, which is not an account
	Verified               // the provider's UUID
	StoreEntry             // an entry of the account store
	Inline                 // a credential in the configuration
)

// Key is an identity. It is comparable, and equal on every machine for the same account. The zero Key is not an account.
type Key struct {
	family          string
	kind            Kind
	qualifier, name string
}

// OfAccount returns the identity of an account of a family whose UUID is known. Organization is empty unless the same UUID
// belongs to two organizations (ID-1b). In a family whose users have quotas of their own within an account, it is the user
// (GPT-4).
func OfAccount(family, uuid, organization string) Key {
	return Key{family, Verified, organization, uuid}
}

// OfStoreEntry returns the identity of an entry of a family's account store whose UUID is unknown.
func OfStoreEntry(family, name string) Key { return Key{family, StoreEntry, "", name} }

// OfInline returns the identity of a credential that is written into the configuration of one upstream and has no UUID.
func OfInline(family, upstream, name string) Key { return Key{family, Inline, upstream, name} }

// Family returns the name of the family of the account.
func (k Key) Family() string { return k.family }

// In returns the same identity with another name of its family, as in the state file.
func (k Key) In(family string) Key {
	k.family = family
	return k
}

// Kind returns the kind of the identity's name.
func (k Key) Kind() Kind { return k.kind }

// Name returns the UUID, the store entry's name or the inline account's name.
func (k Key) Name() string { return k.name }

// Qualifier returns the organization or the user of a verified identity, or the upstream of an inline one; empty otherwise.
func (k Key) Qualifier() string { return k.qualifier }

// IsZero reports whether k names no account.
func (k Key) IsZero() bool { return k.kind == Unknown }

// String returns a stable text form, unique to the identity.
func (k Key) String() string { return k.family + "\x1f" + k.Account() }

// Account returns the text form without the family. It is unique among the accounts of one family. Rendezvous hashing
// (SEL-1) depends on it.
func (k Key) Account() string {
	kind := [...]string{"unknown", "verified", "store", "inline"}[k.kind]
	return strings.Join([]string{kind, k.qualifier, k.name}, "\x1f")
}
