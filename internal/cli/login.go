package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"shunt/internal/account"
	"shunt/internal/app"
	"shunt/internal/family"
	"shunt/internal/oauth"
)

type loginCommand struct {
	Claude loginClaudeCommand `cmd:"" help:"Add a Claude account: log in to it in the browser, or copy a login of Claude Code."`
}

type loginClaudeCommand struct {
	Name      string `required:"" placeholder:"NAME" help:"What the account is called in shunt: a-z, 0-9 and -. An account of that name is replaced."`
	Mode      string `placeholder:"MODE" enum:"oauth,import,setup-token," default:"" help:"oauth: log in in the browser. import: copy the login of Claude Code. setup-token: a token for inference only, good for a year. Without it: asks on a terminal, else import."`
	Manual    bool   `help:"With --mode oauth: paste the code by hand, for a browser on another machine."`
	LongLived bool   `hidden:"" help:"Deprecated: --mode setup-token."`
}

// The values of --mode.
const (
	modeOAuth      = "oauth"
	modeImport     = "import"
	modeSetupToken = "setup-token"
)

// Validate is called by kong (LOG-1).
func (k *loginClaudeCommand) Validate() error {
	switch {
	case k.LongLived && k.Mode != "":
		return errors.New("--long-lived is the old name of --mode setup-token: use one of them")
	case k.Manual && (k.LongLived || k.Mode != "" && k.Mode != modeOAuth):
		return errors.New("--manual belongs to --mode oauth")
	}
	return account.CheckName(k.Name)
}

// Run logs in and stores what comes of it (LOG-1..6).
func (k *loginClaudeCommand) Run(s *System) error {
	store, err := openStore(s)
	if err != nil {
		return err
	}
	vendor, warnings := claude().Vendor.Overridden(s.Getenv)
	for _, w := range warnings {
		fmt.Fprintln(s.Stderr, "warning:", w)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	person := console{s.Stdin, s.Stderr}
	err = (&login{
		store: store, client: oauth.NewClient(vendor, nil), getenv: s.Getenv, answer: s.Stdout, say: s.Stderr,
		interactive: person.interactive(), ask: person.ask, browse: browser(s),
		listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	}).run(ctx, k)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; nothing was stored")
	}
	return err
}

func openStore(s *System) (*account.Store, error) {
	dir, err := account.StoreDir(claude().Name, s.Getenv)
	if err != nil {
		return nil, err
	}
	return account.OpenStore(dir, claude().Credentials), nil
}

// claude returns the family of the accounts that the commands know.
func claude() *family.Family { return app.Family("claude") }

// login is one login and all of the world that it touches.
type login struct {
	store       *account.Store
	client      *oauth.Client
	getenv      func(string) string
	answer, say io.Writer

	interactive bool // a person sits at ask
	ask         func(ctx context.Context, prompt string, hidden bool) (string, error)
	browse      func(ctx context.Context, address string) error // fails if no browser opens; may last as long as ctx
	listen      func() (net.Listener, error)                    // where the browser brings the code
}

const termsOfUse = "Pool subscription credentials only where the account's terms allow it, and only accounts that you are entitled to use.\n" +
	"shunt is an unofficial tool."

func (l *login) run(ctx context.Context, k *loginClaudeCommand) error {
	fmt.Fprintln(l.say, termsOfUse)
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
	fmt.Fprintf(l.answer, "Stored in %s. For the configuration: [[providers.anthropic.accounts]] with name = %q; "+
		"without such a list, every account of the store serves.\n", l.store.Path(k.Name), k.Name)
	return nil
}

// mode is how to log in (LOG-1).
func (l *login) mode(ctx context.Context, k *loginClaudeCommand) (string, error) {
	switch {
	case k.LongLived:
		fmt.Fprintln(l.say, "--long-lived is deprecated: use --mode setup-token.")
		return modeSetupToken, nil
	case k.Mode != "":
		return k.Mode, nil
	case k.Manual && l.interactive:
		return modeOAuth, nil
	case k.Manual:
		return "", fmt.Errorf("without a terminal the mode is import, and --manual belongs to --mode oauth: %w", errUsage)
	case !l.interactive:
		return modeImport, nil
	}
	fmt.Fprintf(l.say, "\nHow shall %s be logged in?\n"+
		"  1  oauth        log in in the browser\n"+
		"  2  import       copy the login that Claude Code has on this machine\n"+
		"  3  setup-token  log in in the browser, for a token that is good for inference only and for a year\n", k.Name)
	for {
		choice, err := l.ask(ctx, "Choose [1]: ", false)
		if err != nil {
			return "", noAnswer(err)
		}
		switch strings.TrimSpace(choice) {
		case "", "1", modeOAuth:
			return modeOAuth, nil
		case "2", modeImport:
			return modeImport, nil
		case "3", modeSetupToken:
			return modeSetupToken, nil
		}
		fmt.Fprintln(l.say, "1, 2 or 3?")
	}
}

// copy stores a copy of a login of Claude Code (LOG-5).
func (l *login) copy(ctx context.Context, name string) error {
	from, err := claude().FindOrigin(l.getenv)
	if err == nil {
		fmt.Fprintf(l.say, "Copying the login in %s; %s says whose it is.\n", from.Credentials, from.Profile)
		err = l.store.Import(ctx, name, from.Credentials, from.Owner)
	}
	if err != nil {
		return fmt.Errorf("import: %w\nLog in with Claude Code first, or use --mode oauth: it gives shunt a login of its own", err)
	}
	fmt.Fprintln(l.say, "Claude Code and shunt have one login now, and the first that renews it logs the other out.\n"+
		"If both go on, log in with --mode oauth instead: it gives shunt a login of its own.")
	return nil
}

// logIn has a person log in, and stores the tokens (LOG-2..4). From the moment that there are some, nothing interrupts it.
func (l *login) logIn(ctx context.Context, name, mode string, manual bool) error {
	kind := oauth.Renewable
	if mode == modeSetupToken {
		kind = oauth.SetupToken
	}
	got, err := l.permission(ctx, kind, manual)
	if err != nil {
		return err
	}
	if err := l.store.Add(context.WithoutCancel(ctx), name, kind, got.grant, got.sent); err != nil {
		return fmt.Errorf("the login is lost: %w", err)
	}
	return nil
}

// granted is what a login brought.
type granted struct {
	grant oauth.Grant
	sent  time.Time // when it was asked for
}

// warnOfAliases says that the account is in the store under another name too: whoever logs in to a second account in a browser
// that is still logged in to the first gets the first again.
func (l *login) warnOfAliases(ctx context.Context, name string) {
	entries, err := l.store.Entries(context.WithoutCancel(ctx))
	if err != nil {
		return // it is stored, and a list of the others is only for this
	}
	var stored account.Entry
	for _, e := range entries {
		if e.Name == name {
			stored = e
		}
	}
	for _, e := range entries {
		if e.Name != name && e.AccountUUID != "" && e.AccountUUID == stored.AccountUUID && e.OrganizationUUID == stored.OrganizationUUID {
			fmt.Fprintf(l.say, "Note: %s and %s are the same account and count as one. Was the browser still logged in to %s?\n", e.Name, name, e.Name)
		}
	}
}
