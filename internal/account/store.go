package account

import (
	"bytes"
	"context"
	"encoding/json"
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

// The reasons why the store does not do what it is asked to, as far as a caller may want to tell them apart.
var (
	ErrName    = errors.New("a name has only a-z, 0-9 and -")
	ErrNoEntry = errors.New("the account store has no such entry")
)

// Store is the account store for whoever changes what is in it: entries come, are replaced, and go (ACC-3, LOG-6). Every
// change is atomic and durable, and a [Keeper] notices it within a second. It may be used concurrently, also by several
// processes.
type Store struct {
	dir  string
	docs store.Store
}

// OpenStore returns the store in a directory (see [StoreDir]), which need not exist. It does not touch the disk.
func OpenStore(dir string) *Store { return &Store{dir, store.NewDir(dir)} }

// Dir is the directory that holds the entries.
func (s *Store) Dir() string { return s.dir }

// Path is where the entry of that name is, or would be.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name+".json") }

// CheckName returns an [ErrName] for what cannot be the name of an entry.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("account name %q: %w", name, ErrName)
	}
	return nil
}

// Kind is what an entry of the store is.
type Kind string

// The kinds of entries, as the admin API calls them (ADM-5).
const (
	Imported   Kind = "imported" // a login that is refreshed, wherever it comes from
	SetupToken Kind = "setup_token"
)

// Entry is an entry of the store, without its tokens.
type Entry struct {
	Name string
	Path string

	// Problem is why the file is no usable entry; then what follows is unknown.
	Problem error

	Kind                          Kind
	Expires                       time.Time // of the access token; zero: the file does not say
	AccountUUID, OrganizationUUID string    // empty: unknown
}

// Entries returns all entries, in the order of their names, and the files of the store that fail to be one (ACC-4). A
// store that does not exist is empty.
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
	d, err := parse(doc.Data)
	if err != nil {
		e.Problem = err
		return e
	}
	e.Kind, e.Expires = Imported, d.expires
	if d.setup {
		e.Kind = SetupToken
	}
	e.AccountUUID, e.OrganizationUUID = firstKnown(d.uuid), firstKnown(d.organization)
	return e
}

// Add stores what a login brought, in place of any entry of that name (LOG-6). Sent is when the code was exchanged.
func (s *Store) Add(ctx context.Context, name string, kind oauth.Kind, grant oauth.Grant, sent time.Time) error {
	entry := entryJSON{
		Login: loginJSON{
			AccessToken: grant.AccessToken.Reveal(), RefreshToken: grant.RefreshToken.Reveal(),
			ExpiresAt: sent.Add(grant.Lifetime).UnixMilli(),
		},
		AccountUUID: grant.AccountUUID, OrganizationUUID: grant.OrganizationUUID,
	}
	if kind == oauth.SetupToken {
		entry.Login.RefreshToken, entry.Login.Kind = "", string(SetupToken)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(entry); err != nil {
		return fmt.Errorf("store account %s: %w", name, err)
	}
	return s.put(ctx, name, text.Bytes())
}

// entryJSON is an entry that shunt writes itself (ACC-3).
type entryJSON struct {
	Login            loginJSON `json:"claudeAiOauth"`
	AccountUUID      string    `json:"shuntAccountUuid,omitempty"`
	OrganizationUUID string    `json:"shuntOrganizationUuid,omitempty"`
}

type loginJSON struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken,omitempty"`
	ExpiresAt    int64  `json:"expiresAt"` // Unix milliseconds
	Kind         string `json:"shuntCredentialKind,omitempty"`
}

// put writes an entry, but nothing that could not be used again.
func (s *Store) put(ctx context.Context, name string, text []byte) error {
	err := CheckName(name)
	if err == nil {
		_, err = parse(text)
	}
	if err == nil {
		_, err = s.docs.Put(ctx, name+".json", text)
	}
	if err != nil {
		return fmt.Errorf("store account %s: %w", name, err)
	}
	return nil
}

// Remove deletes an entry, with its login. It returns an [ErrNoEntry] if there is none of that name.
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
