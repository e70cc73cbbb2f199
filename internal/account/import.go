package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"shunt/internal/store"
	"shunt/internal/userfile"
)

// maxClaudeConfig is the most bytes of Claude Code's global configuration that are read: it holds histories.
const maxClaudeConfig = 64 << 20

// Origin is where Claude Code keeps a login of its own, from which it can be copied (LOG-5).
type Origin struct {
	Credentials string // the file with the tokens
	Config      string // the global configuration, which knows whose they are
}

// FindOrigin returns the login that the environment leads to: that of $CLAUDE_CREDENTIALS, of $CLAUDE_CONFIG_DIR, or of the
// home directory. The files need not exist.
//
// The configuration must be the one that belongs to the credentials, or tokens would be taken for another account's. So
// a login in $CLAUDE_CONFIG_DIR comes before that of the home directory, and a configuration beside $CLAUDE_CREDENTIALS
// before that of the home directory.
func FindOrigin(getenv func(string) string) (Origin, error) {
	o := Origin{Credentials: getenv("CLAUDE_CREDENTIALS")}
	home, err := homeDir(getenv)
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		o.Config = filepath.Join(dir, ".claude.json")
		if own := filepath.Join(dir, ".credentials.json"); o.Credentials == "" && (exists(own) || err != nil) {
			o.Credentials = own
		}
	} else if beside := filepath.Join(filepath.Dir(o.Credentials), ".claude.json"); o.Credentials != "" && exists(beside) {
		o.Config = beside
	}
	if o.Credentials != "" && o.Config != "" {
		return o, nil
	}
	if err != nil {
		return Origin{}, errors.New("no place to look for a login of Claude Code: set CLAUDE_CREDENTIALS and CLAUDE_CONFIG_DIR")
	}
	if o.Credentials == "" {
		o.Credentials = filepath.Join(home, ".claude", ".credentials.json")
	}
	if o.Config == "" {
		o.Config = filepath.Join(home, ".claude.json")
	}
	return o, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Import stores a copy of a login of Claude Code in place of any entry of that name; the origin stays as it is. Both tokens
// and the account's UUID must be known (LOG-5). From now on two programs have one login, and the first that refreshes it
// logs the other out.
func (s *Store) Import(ctx context.Context, name string, from Origin) error {
	if err := CheckName(name); err != nil {
		return err
	}
	text, err := readOrigin(ctx, from.Credentials)
	if err != nil {
		return err
	}
	uuid, organization, err := ownerIn(from.Config)
	if err != nil {
		return err
	}
	if same(s.Path(name), from.Credentials) {
		return fmt.Errorf("%s is the login itself, so there is nothing to copy", s.Path(name))
	}
	text = withMember(text, "shuntAccountUuid", uuid)
	if organization != "" {
		text = withMember(text, "shuntOrganizationUuid", organization)
	}
	return s.put(ctx, name, text)
}

// readOrigin returns a credentials file from which a login can be copied.
func readOrigin(ctx context.Context, path string) ([]byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	doc, err := store.NewDir(filepath.Dir(path)).Get(ctx, filepath.Base(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", path)
	}
	if err != nil {
		return nil, err
	}
	d, err := parse(doc.Data)
	switch {
	case err != nil:
	case d.setup:
		err = errors.New("it holds a setup token and no login")
	case d.refresh.IsZero():
		err = errors.New("the claudeAiOauth login has no refreshToken")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d.text, nil
}

// ownerIn is whose login it is, as far as Claude Code's global configuration says.
func ownerIn(path string) (uuid, organization string, err error) {
	content, err := readRegular(path)
	if err != nil {
		return "", "", fmt.Errorf("whose login it is cannot be known: %w", err)
	}
	text, err := userfile.Text(content)
	if err != nil {
		return "", "", fmt.Errorf("whose login it is cannot be known: %s %w", path, err)
	}
	var config struct {
		OAuthAccount struct {
			AccountUUID      string `json:"accountUuid"`
			OrganizationUUID string `json:"organizationUuid"`
		} `json:"oauthAccount"`
	}
	err = json.Unmarshal(text, &config) // one field of another type does not take the others away
	account := config.OAuthAccount
	if uuid = firstKnown(account.AccountUUID); uuid != "" {
		return uuid, firstKnown(account.OrganizationUUID), nil
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return "", "", fmt.Errorf("whose login it is cannot be known: %s is no valid JSON", path)
	}
	return "", "", fmt.Errorf("whose login it is cannot be known: %s has no oauthAccount.accountUuid", path)
}

// readRegular reads a file, unless it could block or is too large.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxClaudeConfig {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", path, maxClaudeConfig)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxClaudeConfig))
}

// same reports whether both paths lead to one file.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// withMember returns an object, which has members, with a string under that name at its top level. All other bytes stay.
func withMember(text []byte, name, value string) []byte {
	list, err := members(text, 0)
	if err != nil || len(list) == 0 {
		return text
	}
	last := list[len(list)-1]
	insert := span{last.value.end, last.value.end}
	added := "," + string(text[last.lead.start:last.lead.end]) + quote(name) + string(text[last.key.end:last.value.start]) + quote(value)
	for _, m := range list {
		if m.name == name {
			insert, added = m.value, quote(value)
		}
	}
	var out strings.Builder
	out.Write(text[:insert.start])
	out.WriteString(added)
	out.Write(text[insert.end:])
	return []byte(out.String())
}
