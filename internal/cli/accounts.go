package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"shunt/internal/account"
)

type accountsCommand struct {
	List   accountsListCommand   `cmd:"" help:"List the accounts of the store."`
	Pause  pauseCommand          `cmd:"" help:"Tell a running shunt to stop using an account until it is resumed."`
	Resume resumeCommand         `cmd:"" help:"Tell a running shunt to use an account again."`
	Remove accountsRemoveCommand `cmd:"" help:"Remove accounts and their logins from the store."`
}

type accountsListCommand struct {
	JSON bool `help:"Print JSON."`
}

// Run lists the accounts of the store without their tokens, and no accounts that the configuration takes from elsewhere.
func (k *accountsListCommand) Run(s *System) error {
	store, err := openStore(s)
	if err != nil {
		return err
	}
	entries, err := store.Entries(context.Background())
	if err != nil {
		return err
	}
	if k.JSON {
		return json.NewEncoder(s.Stdout).Encode(listForPrograms(entries))
	}
	if len(entries) == 0 {
		fmt.Fprintf(s.Stderr, "No account in %s. `shunt login claude --name NAME` adds one.\n", store.Dir())
		return nil
	}
	return writeEntries(s.Stdout, entries, time.Now())
}

// writeEntries writes the accounts as a table.
func writeEntries(w io.Writer, entries []account.Entry, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tEXPIRES\tACCOUNT")
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
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", e.Name, kind, until, owner)
	}
	return table.Flush()
}

type listedAccount struct {
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
func listForPrograms(entries []account.Entry) accountList {
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
func (k *accountsRemoveCommand) Run(s *System) error {
	store, err := openStore(s)
	if err != nil {
		return err
	}
	failed := false
	for _, name := range k.Names {
		if err := store.Remove(context.Background(), name); err != nil {
			fmt.Fprintf(s.Stderr, "shunt: %v\n", err)
			failed = true
			continue
		}
		fmt.Fprintf(s.Stdout, "Removed %s\n", store.Path(name))
	}
	if failed {
		return errReported
	}
	return nil
}
