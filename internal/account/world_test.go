package account_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/account"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/observe"
	"shunt/internal/observe/observetest"
	"shunt/internal/secret"
	"shunt/internal/store"
)

func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	goleak.VerifyTestMain(m)
}

const storeDir = "/store"

// world is a keeper with its surroundings. At the end of a test, the log and the conditions must not contain tokens.
type world struct {
	*testing.T
	*endpoint
	form   form
	disk   *disk
	keeper *account.Keeper
	health *observe.Health
	env    map[string]string

	log observetest.Log

	mu      sync.Mutex
	changed []identity.Key
}

func newWorld(t *testing.T, f form) *world {
	w := &world{
		T:        t,
		form:     f,
		endpoint: &endpoint{valid: map[string]bool{}, lifetime: 8 * time.Hour, token: f.token},
		disk:     &disk{stores: map[string]*store.Memory{}},
		env:      map[string]string{},
	}
	w.keeper = w.newKeeper()
	t.Cleanup(func() {
		if strings.Contains(w.log.String(), "tok-") || strings.Contains(fmt.Sprint(w.health.List()), "tok-") {
			t.Errorf("TOK-8: a token in the log:\n%s", w.log.String())
		}
	})
	return w
}

// newKeeper returns the keeper of another process on the same disk. The world's health is that of the latest keeper.
func (w *world) newKeeper() *account.Keeper {
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	w.health = observe.NewHealth(log, clockZero)
	return account.NewKeeper(account.Options{
		Log: log, Health: w.health, Families: []account.Family{familyOf(w.form, oauth.NewClient(w.form.family.Vendor, w.endpoint), storeDir)}, Open: w.disk.open,
		Getenv: func(name string) string { return w.env[name] },
		OnChange: func(key identity.Key) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changed = append(w.changed, key)
		},
	})
}

// familyOf returns a family with the logins of a form. Its name is the one in [listings].
func familyOf(f form, r account.Refresher, dir string) account.Family {
	return account.Family{Name: "claude", Format: f.family.Credentials, Refresher: r, Dir: dir}
}

// changes returns the identities that OnChange was called with since the last call of changes.
func (w *world) changes() []identity.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.changed = nil }()
	return w.changed
}

// login writes a store entry whose access token has the given time left, and whose refresh token the endpoint accepts.
func (w *world) login(name string, left time.Duration) {
	w.Helper()
	w.endpoint.mu.Lock()
	w.endpoint.minted++
	n := w.endpoint.minted
	w.endpoint.valid[fmt.Sprintf("tok-ort-%s#%d", name, n)] = true
	w.endpoint.mu.Unlock()
	w.write(name+".json", w.file(fmt.Sprintf("tok-oat-%s#%d", name, n), fmt.Sprintf("tok-ort-%s#%d", name, n), time.Now().Add(left)))
}

// file returns a credentials file with the tokens of these names.
func (w *world) file(access, refresh string, expires time.Time) string {
	return w.form.file(w.mint(access, expires), refresh, expires, expires.Add(-w.lifetime))
}

// secret returns the access token of a name, or the name if it is not one.
func (w *world) secret(name string) account.Token {
	if token, ok := w.tokens.Load(name); ok {
		name = token.(string)
	}
	return secret.New(name)
}

func (w *world) write(name, content string) {
	w.Helper()
	if _, err := w.disk.open(storeDir).Put(w.Context(), name, []byte(content)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.Helper()
	doc, err := w.disk.open(storeDir).Get(context.Background(), name)
	if err != nil {
		w.Fatal(err)
	}
	return string(doc.Data)
}

// accounts resolves the whole store.
func (w *world) accounts() []*account.Account {
	w.Helper()
	accounts, warnings := w.keeper.Resolve(listings(sets{"claude": nil}))
	if len(warnings) > 0 {
		w.Errorf("warnings: %q", warnings)
	}
	return accounts["claude"]
}

func (w *world) account() *account.Account {
	w.Helper()
	accounts := w.accounts()
	if len(accounts) != 1 {
		w.Fatalf("%d accounts", len(accounts))
	}
	return accounts[0]
}

// token returns the name of the account's token. It may be called from any goroutine.
func (w *world) token(a *account.Account) string {
	w.Helper()
	token, err := a.Token(w.Context())
	if err != nil {
		w.Error(err)
	}
	return nameOf(token.Reveal())
}

// fails requires an error of the kind, without a token in its text.
func (w *world) fails(_ account.Token, err, kind error) {
	w.Helper()
	if err == nil || !errors.Is(err, kind) || strings.Contains(err.Error(), "tok-") {
		w.Errorf("err = %v, want %v", err, kind)
	}
}

// tokenFails requires that there is no token, for this reason.
func (w *world) tokenFails(a *account.Account, kind error) {
	w.Helper()
	token, err := a.Token(w.Context())
	w.fails(token, err, kind)
}

// renewed requires that a rejected token is refreshed, and returns the new one.
func (w *world) renewed(a *account.Account, rejected string) string {
	w.Helper()
	token, err := a.Renew(w.Context(), w.secret(rejected))
	if err != nil {
		w.Errorf("Renew: %v", err)
	}
	return nameOf(token.Reveal())
}

// spent requires that a rejected token is not refreshed, and that nothing waits.
func (w *world) spent(a *account.Account, rejected string) {
	w.Helper()
	began, calls := time.Now(), w.count()
	token, err := a.Renew(w.Context(), w.secret(rejected))
	w.fails(token, err, account.ErrRefreshSpent)
	w.wants("calls", w.count(), calls)
	w.wants("took", time.Since(began), time.Duration(0))
}

// conditions requires exactly the conditions with these names.
func (w *world) conditions(names ...string) {
	w.Helper()
	var got []string
	for _, c := range w.health.List() {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, names) {
		w.Errorf("conditions %q, want %q", got, names)
	}
}

// wants compares texts. An access token counts as its name.
func (w *world) wants(what string, got, want any) {
	w.Helper()
	if nameOf(fmt.Sprint(got)) != nameOf(fmt.Sprint(want)) {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (w *world) close() {
	w.Helper()
	if err := w.keeper.Close(context.Background()); err != nil {
		w.Error(err)
	}
}

// run runs the keeper's background until the returned function is called.
func (w *world) run() (end func()) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { w.keeper.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

func millis(left time.Duration) string { return fmt.Sprint(time.Now().Add(left).UnixMilli()) }
