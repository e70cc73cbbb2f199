package account

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"shunt/internal/oauth"
	"shunt/internal/secret"
	"shunt/internal/userfile"
)

// Family is what this package needs to know of a family of accounts.
type Family struct {
	Name      string
	Format    oauth.Format // of its credentials files
	Refresher Refresher
	Dir       string // its account store: an absolute path, see [StoreDir]; it need not exist
}

// Refresher exchanges a refresh token. [oauth.Client] is one.
type Refresher interface {
	Refresh(ctx context.Context, refreshToken secret.String) (oauth.Grant, error)
}

// StoreDir returns the directory of a family's account store (ACC-3).
func StoreDir(family string, getenv func(string) string) (string, error) {
	variable := "SHUNT_" + strings.ToUpper(family) + "_ACCOUNTS_DIR"
	if dir := getenv(variable); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := userfile.Home(getenv)
	if err != nil {
		return "", fmt.Errorf("no place for the account store: set %s (%w)", variable, err)
	}
	return filepath.Join(home, ".shunt", "accounts", family), nil
}

// loginCommand is the command that makes the login of a store entry again.
func (f *Family) loginCommand(entry string) string {
	return fmt.Sprintf("`shunt login %s --name %s`", f.Name, entry)
}
