package account

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// Family describes a family of accounts.
type Family struct {
	Name      string       // in identities
	Login     string       // what `shunt login` calls it; empty: Name
	Format    oauth.Format // of its credentials files
	Refresher Refresher
	Dir       string // absolute path of its account store, see [StoreDir]; it need not exist
}

// Refresher exchanges the refresh token of a login. [oauth.Client] is one.
type Refresher interface {
	Refresh(ctx context.Context, login oauth.Credential) (oauth.Grant, error)
}

// StoreDir returns the directory of the account store of that name, which is a family's (ACC-3).
func StoreDir(name string, getenv func(string) string) (string, error) {
	variable := "SHUNT_" + strings.ToUpper(name) + "_ACCOUNTS_DIR"
	if dir := getenv(variable); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := userfile.Home(getenv)
	if err != nil {
		return "", fmt.Errorf("no place for the account store: set %s (%w)", variable, err)
	}
	return filepath.Join(home, ".shunt", "accounts", name), nil
}
