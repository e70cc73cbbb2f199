package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"shunt/internal/oauth"
	"shunt/internal/store"
)

// Errors that callers distinguish.
var (
	ErrName    = errors.New("a name has only a-z, 0-9 and -")
	ErrNoEntry = errors.New("the account store has no such entry")
)

// Store adds, replaces and removes the entries of an account store (ACC-3, LOG-6). Every change is atomic and durable, and a
// [Keeper] notices it within a second. A Store is safe for concurrent use, also by several processes.
type Store struct {
	dir    string
	format oauth.Format
	docs   store.Store
}

// OpenStore returns the store in a directory (see [StoreDir]), which need not exist. It does not access the disk.
func OpenStore(dir string, format oauth.Format) *Store { return &Store{dir, format, store.NewDir(dir)} }

// Dir returns the directory of the entries.
func (s *Store) Dir() string { return s.dir }

// Path returns the path of the entry with that name, which need not exist.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name+".json") }

// CheckName returns an [ErrName] if name is not a valid name of an entry.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("account name %q: %w", name, ErrName)
	}
	return nil
}

// Kind is the kind of an entry.
type Kind string

// The kinds of entries, as the admin API calls them (ADM-5).
const (
	Imported   Kind = "imported" // a login that is refreshed, whatever its origin
	SetupToken Kind = "setup_token"
)

// Entry is an entry of the store, without its tokens.
type Entry struct {
	Name string
	Path string

	// Problem is why the entry cannot be used, or nil. With a problem, the fields below are not set.
	Problem error

	Kind                          Kind
	Expires                       time.Time // of the access token; zero: the file does not say
	AccountUUID, OrganizationUUID string    // empty: unknown
	UserID                        string    // of the person; empty: unknown or not part of the identity (GPT-4)
}

// Entries returns all entries in name order, including files that are not usable entries (ACC-4). A store that does not
// exist is empty.
func (s *Store) Entries(ctx context.Context) ([]Entry, error) {
	names, err := s.docs.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the account store: %w", err)
	}
	var entries []Entry
	for _, file := range names {
		if name, ok := strings.CutSuffix(file, ".json"); ok {
			entries = append(entries, s.entry(ctx, name))
		}
	}
	return entries, nil
}

func (s *Store) entry(ctx context.Context, name string) Entry {
	e := Entry{Name: name, Path: s.Path(name)}
	if e.Problem = CheckName(name); e.Problem != nil {
		return e
	}
	doc, err := s.docs.Get(ctx, name+".json")
	if err != nil {
		e.Problem = err
		return e
	}
	d, err := parse(s.format, doc.Data)
	if err != nil {
		e.Problem = err
		return e
	}
	e.Kind, e.Expires = Imported, d.Expires
	if d.SetupToken {
		e.Kind = SetupToken
	}
	e.AccountUUID, e.OrganizationUUID = oauth.ParseUUID(d.file.Account), oauth.ParseUUID(d.file.Organization)
	e.UserID = oauth.ParseUUID(d.file.User)
	return e
}

// Add stores the grant of a login and replaces any entry with that name (LOG-6). Sent is when the code was exchanged.
func (s *Store) Add(ctx context.Context, name string, kind oauth.Kind, grant oauth.Grant, sent time.Time) error {
	c := grant.Credential(oauth.Credential{}, sent)
	c.SetupToken = kind == oauth.SetupToken
	return s.put(ctx, name, s.format.New(c, grant.Owner))
}

// Import copies the login in another program's credentials file, which it does not change, and replaces any entry with that
// name (LOG-5). The file must have both tokens. Owner returns the account that the login belongs to. Two programs have one
// login then, and the first that refreshes it logs the other out.
func (s *Store) Import(ctx context.Context, name, credentials string, owner func() (oauth.Owner, error)) error {
	if err := CheckName(name); err != nil {
		return err
	}
	d, err := s.readOrigin(ctx, credentials)
	if err != nil {
		return err
	}
	of, err := owner()
	if err != nil {
		return err
	}
	if sameFile(s.Path(name), credentials) {
		return fmt.Errorf("%s is the login itself, so there is nothing to copy", s.Path(name))
	}
	return s.put(ctx, name, s.format.Assign(d.file, of))
}

// readOrigin reads a credentials file whose login can be copied.
func (s *Store) readOrigin(ctx context.Context, path string) (document, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return document{}, err
	}
	doc, err := store.NewDir(filepath.Dir(path)).Get(ctx, filepath.Base(path))
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, fmt.Errorf("cannot find the file %s", path)
	}
	if err != nil {
		return document{}, err
	}
	d, err := parse(s.format, doc.Data)
	switch {
	case err != nil:
	case d.SetupToken:
		err = errors.New("it is a setup token, not a login")
	case d.Refresh.IsZero():
		err = errors.New("the login has no refresh token")
	}
	if err != nil {
		return document{}, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// sameFile reports whether two paths are the same file.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// put writes an entry, if it is usable.
func (s *Store) put(ctx context.Context, name string, text []byte) error {
	err := CheckName(name)
	if err == nil {
		_, err = parse(s.format, text)
	}
	if err == nil {
		_, err = s.docs.Put(ctx, name+".json", text)
	}
	if err != nil {
		return fmt.Errorf("store account %s: %w", name, err)
	}
	return nil
}

// Remove deletes an entry. It returns an [ErrNoEntry] if there is none with that name.
func (s *Store) Remove(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if _, err := os.Lstat(s.Path(name)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoEntry, name)
	}
	if err := s.docs.Remove(ctx, name+".json"); err != nil {
		return fmt.Errorf("remove account %s: %w", name, err)
	}
	return nil
}
