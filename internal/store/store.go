// Package store keeps small durable documents: one contract, [Store], with an implementation in memory and one in a
// directory, and a conformance test (package storetest) that every implementation runs. A document is read and written
// as a whole. The package does not interpret documents, and it is not a database: it has no queries and no transactions
// over several documents.
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

// MaxSize is the largest size of a document in bytes.
const MaxSize = 1 << 20

// ErrConflict reports that the document no longer has the version that a conditional write was to replace.
var ErrConflict = errors.New("the document has changed meanwhile")

// Version identifies a document's content. It is opaque. Different contents have different versions, and the empty Version
// is that of a document that does not exist.
type Version string

// Doc is a document as it was at one moment. The caller owns Data.
type Doc struct {
	Data    []byte
	Version Version
}

// Orphan is the content of a write that its process did not complete because it was killed. It may be truncated.
type Orphan struct {
	Data  []byte
	Newer bool // written after the document
}

// Store holds documents by name. All methods may be called concurrently, also by several processes if the store outlives
// them. Every read returns the last completed write of any process. Every write is atomic, and durable when it returns
// without an error. After a failed write the document is either the old one or the new one.
//
// A name is a plain file name of 1 to 200 bytes without slashes. It is not "." or ".." and does not end in ".lock".
type Store interface {
	// Get returns the document, or an error that is [fs.ErrNotExist].
	Get(ctx context.Context, name string) (Doc, error)

	// Put writes the document and replaces an existing one.
	Put(ctx context.Context, name string, data []byte) (Version, error)

	// PutIf writes the document if its version is was, or if was is empty and the document does not exist. Otherwise it
	// returns an error that is [ErrConflict] and changes nothing. No other write through the store, with a lease or
	// without, comes between the comparison and the write.
	PutIf(ctx context.Context, name string, data []byte, was Version) (Version, error)

	// Remove deletes the document. It does nothing if the document does not exist.
	Remove(ctx context.Context, name string) error

	// List returns the names of the documents in byte order, without those that begin with a dot.
	List(ctx context.Context) ([]string, error)

	// Orphans returns the orphans of a document, oldest first. It never returns the write of a live process. Each write
	// of the document removes the orphans that have the same content and those that are over a day old.
	Orphans(ctx context.Context, name string) ([]Orphan, error)

	// RemoveOrphans removes the orphans of a document that are at least that old.
	RemoveOrphans(ctx context.Context, name string, age time.Duration) error

	// Lease waits for the lease of a name until nobody holds it, or until ctx ends. The end of ctx does not end the
	// lease. The document need not exist.
	Lease(ctx context.Context, name string) (Lease, error)

	// Watch calls changed with the name of every existing document, and then, within a second, with the name of each one
	// that was added, changed or removed. It may report several changes in a row as one. It watches the given names or,
	// if there are none, all that List returns. It makes one call at a time, in its own goroutine, and returns the
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
