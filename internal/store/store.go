// Package store keeps small durable documents: one contract, [Store], with an implementation in memory and one in a
// directory, and a conformance test (package storetest) that every implementation runs. A document is read and written
// whole. The package knows nothing of what a document says, and it is no database: no queries, no transactions over
// several documents.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// MaxSize is the most bytes that a document may have.
const MaxSize = 1 << 20

// ErrConflict reports that a conditional write found another version than the one it was to replace.
var ErrConflict = errors.New("the document was changed by someone else")

// Version stands for a document's content. It is opaque; two contents never share one, and the empty Version stands for
// a document that does not exist.
type Version string

// Doc is a document as it was at one moment. The holder owns Data.
type Doc struct {
	Data    []byte
	Version Version
}

// Orphan is the content of a write that was never completed, because its process was killed. It may be truncated.
type Orphan struct {
	Data  []byte
	Newer bool // it was written after the document
}

// Store holds documents by name. All methods may be called concurrently, also by several processes where the store
// outlives one. Every read sees the last completed write, whoever made it; every write is atomic, and durable when it
// returns without an error. After an error from a write the document is either the old one or the new one.
//
// A name is a plain file name: not empty, no slash, at most 200 bytes, not "." or "..", not ending in ".lock".
type Store interface {
	// Get returns the document, or an error that is [fs.ErrNotExist].
	Get(ctx context.Context, name string) (Doc, error)

	// Put writes the document, whatever was there.
	Put(ctx context.Context, name string, data []byte) (Version, error)

	// PutIf writes the document if its version is still was (empty: if there is none), else it returns an error that
	// is [ErrConflict] and changes nothing. Comparing and writing are one step against every other write of the
	// contract, with or without a lease.
	PutIf(ctx context.Context, name string, data []byte, was Version) (Version, error)

	// Remove deletes the document. Removing what is not there does nothing.
	Remove(ctx context.Context, name string) error

	// List returns the names of the documents in byte order, without those that begin with a dot.
	List(ctx context.Context) ([]string, error)

	// Orphans returns the orphans of a document, oldest first; never the write of a process that is alive. Each write of
	// the document removes those that hold just what it wrote, and those that are over a day old.
	Orphans(ctx context.Context, name string) ([]Orphan, error)

	// RemoveOrphans removes the orphans of a document that are at least that old.
	RemoveOrphans(ctx context.Context, name string, age time.Duration) error

	// Lease waits for the lease of a name until nobody holds it, or until ctx ends. The end of ctx does not end the
	// lease. The document need not exist.
	Lease(ctx context.Context, name string) (Lease, error)

	// Watch calls changed with the name of every document there is, and then with each one that was added, changed or
	// removed, within a second; several changes in a row may be told as one. It watches the given names, or without
	// any all that List shows. It calls from its own goroutine only, one call after the other, and returns the
	// context's error when ctx ends.
	Watch(ctx context.Context, changed func(name string), names ...string) error
}

func versionOf(data []byte) Version {
	sum := sha256.Sum256(data)
	return Version(hex.EncodeToString(sum[:]))
}

func checkName(name string) error {
	if name == "" || len(name) > 200 || name == "." || name == ".." ||
		strings.ContainsAny(name, "/\\\x00") || strings.HasSuffix(name, lockSuffix) {
		return fmt.Errorf("document name %q: %w", name, fs.ErrInvalid)
	}
	return nil
}

func checkSize(name string, size int64) error {
	if size > MaxSize {
		return fmt.Errorf("document %s has %d bytes, more than %d", name, size, MaxSize)
	}
	return nil
}
