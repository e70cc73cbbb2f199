package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"shunt/internal/account"
	"shunt/internal/config"
)

type accountsCommand struct {
	List   accountsListCommand   `cmd:"" help:"List the accounts of the store."`
	Pause  pauseCommand          `cmd:"" help:"Make a running shunt stop using an account until it is resumed."`
	Resume resumeCommand         `cmd:"" help:"Make a running shunt use an account again."`
	Remove accountsRemoveCommand `cmd:"" help:"Remove accounts and their logins from the store."`
}

type accountsListCommand struct {
	JSON bool `help:"Print JSON."`
}

// Run lists the accounts of every family's store without their tokens. It shows their families unless all are of the first one. It does not list accounts that the configuration takes
// from elsewhere.
func (k *accountsListCommand) Run(c *commands, s *System) error {
	stores, err := openStores(c, s)
	if err != nil {
		return err
	}
	var all []storedAccount
	for _, store := range stores {
		entries, err := store.Entries(context.Background())
		if err != nil {
			return err
		}
		for _, e := range entries {
			all = append(all, storedAccount{e, store.family})
		}
	}
	withFamily := slices.ContainsFunc(all, func(a storedAccount) bool { return a.family != stores[0].family })
	if k.JSON {
		return json.NewEncoder(s.Stdout).Encode(listForPrograms(all, withFamily))
	}
	if len(all) == 0 {
		for _, store := range configured(c, s, stores) {
			fmt.Fprintf(s.Stderr, "No account in %s. `shunt login %s --name NAME` adds one.\n", store.Dir(), store.login)
		}
		return nil
	}
	return writeEntries(s.Stdout, all, withFamily, time.Now())
}

// familyStore is the account store of a family.
type familyStore struct {
	*account.Store
	family string
	login  string // what `shunt login` calls the family
	auth   string // of the family's pools in the configuration
}

// storedAccount is an entry of a family's store.
type storedAccount struct {
	account.Entry
	family string
}

// openStores opens the store of every family.
func openStores(c *commands, s *System) ([]familyStore, error) {
	var stores []familyStore
	for _, f := range c.families {
		store, err := openStore(f, s)
		if err != nil {
			return nil, err
		}
		stores = append(stores, familyStore{store, f.Name, f.StoreName(), f.Auth})
	}
	return stores, nil
}

// configured returns the stores of the families that the configuration has pools of. If it has none or cannot be loaded, that is
// the first store.
func configured(c *commands, s *System, stores []familyStore) []familyStore {
	cfg, _, err := load(c, s)
	if err != nil {
		return stores[:1]
	}
	var used []familyStore
	for _, store := range stores {
		if slices.ContainsFunc(cfg.Providers, func(p config.Provider) bool { return p.Pool() && string(p.Auth) == store.auth }) {
			used = append(used, store)
		}
	}
	if used == nil {
		return stores[:1]
	}
	return used
}

// writeEntries writes the accounts as a table. If withFamily is set, the first column is the family.
func writeEntries(w io.Writer, entries []storedAccount, withFamily bool, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(family, name, kind, expires, owner string) {
		if withFamily {
			fmt.Fprintf(table, "%s\t", family)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, kind, expires, owner)
	}
	row("FAMILY", "NAME", "KIND", "EXPIRES", "ACCOUNT")
	for _, e := range entries {
		kind, until, owner := "login", "unknown", e.AccountUUID
		if e.Kind == account.SetupToken {
			kind = "setup token"
		}
		if owner == "" {
			owner = "unknown"
		}
		switch {
		case e.Problem != nil:
			kind, until, owner = "unusable", "", e.Problem.Error()
		case !e.Expires.IsZero():
			until = e.Expires.Local().Format("2006-01-02 15:04")
			if e.Kind == account.SetupToken && !e.Expires.After(now) {
				until += " (expired)" // shunt refreshes a login
			}
		}
		row(e.family, e.Name, kind, until, owner)
	}
	return table.Flush()
}

type listedAccount struct {
	Family           string     `json:"family,omitempty"` // unless all accounts are of the first family
	Name             string     `json:"name"`
	Path             string     `json:"path"`
	Kind             *string    `json:"kind"`
	ExpiresAt        *time.Time `json:"expires_at"`
	UUID             *string    `json:"uuid"`
	OrganizationUUID *string    `json:"organization_uuid"`
	Problem          string     `json:"problem,omitempty"`
}

type accountList struct {
	Accounts []listedAccount `json:"accounts"`
}

// listForPrograms returns the list for JSON; unknown values are null.
func listForPrograms(entries []storedAccount, withFamily bool) accountList {
	list := accountList{Accounts: []listedAccount{}}
	known := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	for _, e := range entries {
		a := listedAccount{
			Name: e.Name, Path: e.Path, Kind: known(string(e.Kind)), UUID: known(e.AccountUUID), OrganizationUUID: known(e.OrganizationUUID),
		}
		if !e.Expires.IsZero() {
			until := e.Expires.UTC()
			a.ExpiresAt = &until
		}
		if withFamily {
			a.Family = e.family
		}
		if e.Problem != nil {
			a.Problem = e.Problem.Error()
		}
		list.Accounts = append(list.Accounts, a)
	}
	return list
}

type accountsRemoveCommand struct {
	Names []string `arg:"" name:"name" help:"The accounts to remove."`
}

// Run removes the accounts that it can and reports the others.
func (k *accountsRemoveCommand) Run(c *commands, s *System) error {
	stores, err := openStores(c, s)
	if err != nil {
		return err
	}
	failed := false
	for _, arg := range k.Names {
		path, err := removeAccount(context.Background(), stores, arg)
		if err != nil {
			fmt.Fprintf(s.Stderr, "shunt: %v\n", err)
			failed = true
			continue
		}
		fmt.Fprintf(s.Stdout, "Removed %s\n", path)
	}
	if failed {
		return errReported
	}
	return nil
}

// removeAccount removes NAME or FAMILY/NAME and returns the path of its file. A name without a family must be in one store only.
func removeAccount(ctx context.Context, stores []familyStore, arg string) (path string, err error) {
	if family, name, ok := strings.Cut(arg, "/"); ok {
		for _, store := range stores {
			if family == store.family || family == store.login {
				return store.Path(name), store.Remove(ctx, name)
			}
		}
	}
	holder := stores[0] // reports a name that no store has
	var holders []string
	for _, store := range stores {
		entries, err := store.Entries(ctx)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(entries, func(e account.Entry) bool { return e.Name == arg }) {
			holder = store
			holders = append(holders, store.family+"/"+arg)
		}
	}
	if len(holders) > 1 {
		return "", fmt.Errorf("several families have an account %s: write %s", arg, strings.Join(holders, " or "))
	}
	return holder.Path(arg), holder.Remove(ctx, arg)
}
