package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"shunt/internal/account"
	"shunt/internal/family"
	"shunt/internal/oauth"
)

// Run logs in and stores the login (LOG-1 to LOG-6).
func (k *familyLoginCommand) Run(s *System) error {
	store, err := openStore(k.family, s)
	if err != nil {
		return err
	}
	vendor, warnings := k.family.Vendor.Overridden(s.Getenv)
	for _, w := range warnings {
		fmt.Fprintln(s.Stderr, "warning:", w)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	terminal := console{s.Stdin, s.Stderr}
	err = (&login{
		family: k.family, store: store, client: oauth.NewClient(vendor, nil), getenv: s.Getenv, stdout: s.Stdout, stderr: s.Stderr,
		interactive: terminal.interactive(), prompt: terminal.ask, browse: browser(s),
		listen: func() (net.Listener, error) {
			return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(vendor.CallbackPort)))
		},
	}).run(ctx, k)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; nothing was stored")
	}
	return err
}

func openStore(f *family.Family, s *System) (*account.Store, error) {
	dir, err := account.StoreDir(f.StoreName(), s.Getenv)
	if err != nil {
		return nil, err
	}
	return account.OpenStore(dir, f.Credentials), nil
}

// login is one login and everything outside the process that it uses.
type login struct {
	family         *family.Family
	store          *account.Store
	client         *oauth.Client
	getenv         func(string) string
	stdout, stderr io.Writer

	interactive bool // a person reads the prompts
	prompt      func(ctx context.Context, text string, hidden bool) (string, error)
	browse      func(ctx context.Context, address string) error // fails if no browser opens; may last as long as ctx
	listen      func() (net.Listener, error)                    // opens the port to which the browser takes the code
}

const termsOfUse = "Pool subscription credentials only where the account's terms allow it, and only accounts that you are entitled to use.\n" +
	"shunt is an unofficial tool."

func (l *login) run(ctx context.Context, k *familyLoginCommand) error {
	fmt.Fprintln(l.stderr, termsOfUse)
	mode, err := l.mode(ctx, k)
	if err != nil {
		return err
	}
	if mode == modeImport {
		err = l.copy(ctx, k.Name)
	} else {
		err = l.logIn(ctx, k.Name, mode, k.Manual)
	}
	if err != nil {
		return err
	}
	l.warnOfAliases(ctx, k.Name)
	fmt.Fprintf(l.stdout, "Stored in %s. For the configuration: [[providers.%s.accounts]] with name = %q; "+
		"without such a list, every account of the store serves.\n", l.store.Path(k.Name), cmp.Or(l.family.Provider, l.family.Name), k.Name)
	return nil
}

// mode returns how to log in (LOG-1).
func (l *login) mode(ctx context.Context, k *familyLoginCommand) (string, error) {
	modes := modesOf(l.family)
	switch {
	case k.LongLived:
		fmt.Fprintln(l.stderr, "--long-lived is deprecated: use --mode setup-token.")
		return modeSetupToken, nil
	case k.Mode != "":
		return k.Mode, nil
	case len(modes) == 1:
		return modes[0].name, nil
	case k.Manual && l.interactive:
		return modeOAuth, nil
	case k.Manual:
		return "", fmt.Errorf("without a terminal, --manual requires --mode oauth: %w", errUsage)
	case l.interactive:
		return l.chooseMode(ctx, k.Name, modes)
	case l.family.Program == nil:
		return "", fmt.Errorf("without a terminal, --mode is required: %w", errUsage)
	}
	return modeImport, nil
}

// chooseMode has a person choose how to log in. The first mode is preselected.
func (l *login) chooseMode(ctx context.Context, name string, modes []loginMode) (string, error) {
	fmt.Fprintf(l.stderr, "\nHow do you want to log in to %s?\n", name)
	for i, m := range modes {
		fmt.Fprintf(l.stderr, "  %d  %-11s  %s\n", i+1, m.name, m.help)
	}
	for {
		choice, err := l.prompt(ctx, "Choose [1]: ", false)
		if err != nil {
			return "", inputError(err)
		}
		choice = cmp.Or(strings.TrimSpace(choice), "1")
		for i, m := range modes {
			if choice == m.name || choice == fmt.Sprint(i+1) {
				return m.name, nil
			}
		}
		fmt.Fprintf(l.stderr, "Enter a number from 1 to %d.\n", len(modes))
	}
}

// copy stores a copy of the login of the provider's own program (LOG-5).
func (l *login) copy(ctx context.Context, name string) error {
	mode := modeOAuth
	if l.family.Vendor.Device != nil {
		mode = modeDevice
	}
	own := "--mode " + mode + ", which gives shunt a login of its own"
	program := l.family.Program
	from, err := program.FindOrigin(l.getenv)
	if err == nil {
		fmt.Fprintf(l.stderr, "Copying the login in %s; %s names its account.\n", from.Credentials, from.Profile)
		err = l.store.Import(ctx, name, from.Credentials, from.Owner)
	}
	if err != nil {
		return fmt.Errorf("import: %w\nLog in with %s first, or use %s", err, program.Name, own)
	}
	fmt.Fprintf(l.stderr, "%s and shunt now share one login, and the first that refreshes it logs the other out.\n"+
		"To use both, log in with %s.\n", program.Name, own)
	return nil
}

// logIn has a person log in and stores the tokens (LOG-2 to LOG-4). Once there are tokens, an interrupt does not stop it.
func (l *login) logIn(ctx context.Context, name, mode string, manual bool) error {
	kind := oauth.Renewable
	if mode == modeSetupToken {
		kind = oauth.SetupToken
	}
	authorize := func() (granted, error) { return l.authorize(ctx, kind, manual) }
	if mode == modeDevice {
		authorize = func() (granted, error) { return l.authorizeDevice(ctx) }
	}
	got, err := authorize()
	if err != nil {
		return err
	}
	if err := l.store.Add(context.WithoutCancel(ctx), name, kind, got.grant, got.sent); err != nil {
		return fmt.Errorf("the login is lost: %w", err)
	}
	return nil
}

// granted is the result of a login.
type granted struct {
	grant oauth.Grant
	sent  time.Time // when it was requested
}

// warnOfAliases warns if the account is in the store under another name too. That happens if the browser was still logged in
// to the first account when a person wanted to add a second one.
func (l *login) warnOfAliases(ctx context.Context, name string) {
	entries, err := l.store.Entries(context.WithoutCancel(ctx))
	if err != nil {
		return // the account is stored, and only the warning needs the list
	}
	var stored account.Entry
	for _, e := range entries {
		if e.Name == name {
			stored = e
		}
	}
	for _, e := range entries {
		if e.Name != name && e.AccountUUID != "" && e.AccountUUID == stored.AccountUUID && e.OrganizationUUID == stored.OrganizationUUID && e.UserID == stored.UserID {
			fmt.Fprintf(l.stderr, "Note: %s and %s are the same account and count as one. Was the browser still logged in to %s?\n", e.Name, name, e.Name)
		}
	}
}
