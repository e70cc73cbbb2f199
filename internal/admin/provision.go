package admin

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/oauth"
)

// pending holds the logins that were started in a browser and are not completed (ADM-5), one for each name.
type pending struct {
	clock clock.Clock
	ttl   time.Duration

	mu  sync.Mutex
	all map[string]*pendingLogin
}

type pendingLogin struct {
	login   *oauth.Login
	kind    oauth.Kind
	expires time.Time
	tries   int // codes that were sent
}

const (
	maxPending   = 100
	maxCodeTries = 5
)

// add adds a login and replaces an older one of the same name. It returns false if too many are pending.
func (p *pending) add(name string, l *pendingLogin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*pendingLogin{}
	}
	now := p.clock.Now()
	for key, old := range p.all {
		if !old.expires.After(now) {
			delete(p.all, key)
		}
	}
	if _, replaces := p.all[name]; !replaces && len(p.all) >= maxPending {
		return false
	}
	l.expires = now.Add(p.ttl)
	p.all[name] = l
	return true
}

// try uses one try of a login and reports whether the state is that of the login. Then it removes the login, because a code works
// only once. It returns nil if no login is pending for the name.
func (p *pending) try(name, state string) (l *pendingLogin, owned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l = p.all[name]
	if l == nil || !l.expires.After(p.clock.Now()) {
		return nil, false
	}
	l.tries++
	owned = l.login.Owns(state)
	if owned || l.tries >= maxCodeTries {
		delete(p.all, name)
	}
	return l, owned
}

// retry restores a login whose code was rejected, unless it has no tries left or another login was started meanwhile.
func (p *pending) retry(name string, l *pendingLogin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[name] == nil && l.tries < maxCodeTries {
		p.all[name] = l
	}
}

var loginKinds = map[string]oauth.Kind{"oauth": oauth.Renewable, "setup_token": oauth.SetupToken}

func (a *Admin) beginLogin(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Name string `json:"name"`
		Mode string `json:"mode"`
	}
	if !readJSON(w, r, &wanted) {
		return
	}
	kind, known := loginKinds[wanted.Mode]
	if !known {
		refuse(w, http.StatusBadRequest, `mode must be "oauth" or "setup_token"`)
		return
	}
	if err := account.CheckName(wanted.Name); err != nil {
		refuse(w, http.StatusBadRequest, "a name may contain only a-z, 0-9 and -")
		return
	}
	login := a.OAuth.Begin(kind, "")
	if !a.logins.add(wanted.Name, &pendingLogin{login: login, kind: kind}) {
		refuse(w, http.StatusTooManyRequests, "too many logins are pending: complete one, or try again later")
		return
	}
	writeJSON(w, struct {
		Name         string `json:"name"`
		AuthorizeURL string `json:"authorize_url"`
	}{wanted.Name, login.AuthorizeURL()})
}

func (a *Admin) completeLogin(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		Code string `json:"code"`
	}
	if !readJSON(w, r, &sent) {
		return
	}
	name := r.PathValue("name")
	code, state, ok := a.OAuth.SplitCode(sent.Code)
	if !ok {
		refuse(w, http.StatusBadRequest, "paste the whole code, CODE#STATE, as the page shows it")
		return
	}
	l, owned := a.logins.try(name, state)
	switch {
	case l == nil:
		refuse(w, http.StatusNotFound, "no login is pending for this name: start again")
		return
	case !owned:
		refuse(w, http.StatusBadRequest, "this code does not belong to this login: use the page that you opened last, or start again")
		return
	}
	sentAt := a.Clock.Now()
	grant, err := l.login.Exchange(r.Context(), code, state)
	if err != nil {
		a.logins.retry(name, l)
		a.Log.Warn("login failed", "account", name, "error", err)
		refuse(w, http.StatusBadGateway, "the provider did not accept the code: open its page again for a new code, or start again")
		return
	}
	if err := a.Store.Add(r.Context(), name, l.kind, grant, sentAt); err != nil {
		a.Log.Error("could not store login", "account", name, "error", err)
		refuse(w, http.StatusInternalServerError, "could not store the account: see the log")
		return
	}
	a.Log.Info("account added", "account", name)
	refreshed := a.Refresh(r.Context()) == nil
	writeJSON(w, struct {
		Name   string `json:"name"`
		Stored bool   `json:"stored"`
		Live   bool   `json:"live"` // new requests are served with it
	}{name, true, refreshed && a.inUse(name)})
}

// inUse reports whether a running pool uses the entry of that name in the store.
func (a *Admin) inUse(name string) bool {
	return slices.ContainsFunc(a.Providers(), func(p Provider) bool { return p.Pool != nil && p.Uses(name) })
}

// StoredAccount describes an entry of the account store, without its tokens.
type StoredAccount struct {
	Name    string       `json:"name"`
	Kind    account.Kind `json:"kind,omitempty"`
	Expires *int64       `json:"expires"` // of the access token, Unix seconds
	UUID    *string      `json:"uuid"`
	Problem string       `json:"problem,omitempty"` // why the entry is not usable
}

func (a *Admin) stored(r *http.Request) ([]StoredAccount, error) {
	entries, err := a.Store.Entries(r.Context())
	if err != nil {
		return nil, err
	}
	list := []StoredAccount{}
	for _, e := range entries {
		s := StoredAccount{Name: e.Name, Kind: e.Kind, Expires: unix(e.Expires, !e.Expires.IsZero()), UUID: text(e.AccountUUID)}
		if e.Problem != nil {
			s.Problem = "this file is not a valid entry: see the log"
		}
		list = append(list, s)
	}
	return list, nil
}

func (a *Admin) listAccounts(w http.ResponseWriter, r *http.Request) {
	list, err := a.stored(r)
	if err != nil {
		a.Log.Error("could not list the account store", "error", err)
		refuse(w, http.StatusInternalServerError, "could not read the account store: see the log")
		return
	}
	writeJSON(w, struct {
		Accounts []StoredAccount `json:"accounts"`
	}{list})
}

func (a *Admin) removeAccount(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	switch err := a.Store.Remove(r.Context(), name); {
	case errors.Is(err, account.ErrName), errors.Is(err, account.ErrNoEntry):
		refuse(w, http.StatusNotFound, "the account store has no such entry")
	case err != nil:
		a.Log.Error("could not remove account", "account", name, "error", err)
		refuse(w, http.StatusInternalServerError, "could not remove the account: see the log")
	default:
		a.Log.Info("account removed", "account", name)
		_ = a.Refresh(r.Context()) // if the client disconnects, the watch of the store does it
		writeJSON(w, struct {
			Name    string `json:"name"`
			Removed bool   `json:"removed"`
		}{name, true})
	}
}
