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

// pending is the logins that were begun in a browser and not completed (ADM-5): one a name.
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
	tries   int
}

const (
	maxPending   = 100
	maxCodeTries = 5
)

// add begins to wait for a login, in place of an older one of the name. It refuses when too many wait.
func (p *pending) add(name string, l *pendingLogin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*pendingLogin{}
	}
	now := p.clock.Now()
	for other, waiting := range p.all {
		if !waiting.expires.After(now) {
			delete(p.all, other)
		}
	}
	if _, again := p.all[name]; !again && len(p.all) >= maxPending {
		return false
	}
	l.expires = now.Add(p.ttl)
	p.all[name] = l
	return true
}

// try takes one of a login's tries, and the login out of the list if its state is right: a code works once.
func (p *pending) try(name, state string) (l *pendingLogin, right bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l = p.all[name]
	if l == nil || !l.expires.After(p.clock.Now()) {
		return nil, false
	}
	l.tries++
	right = l.login.Owns(state)
	if right || l.tries >= maxCodeTries {
		delete(p.all, name)
	}
	return l, right
}

// again gives a login whose code was rejected another try, unless it has used them up or another login has begun meanwhile.
func (p *pending) again(name string, l *pendingLogin) {
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
		refuse(w, http.StatusBadRequest, `mode is "oauth" or "setup_token"`)
		return
	}
	if err := account.CheckName(wanted.Name); err != nil {
		refuse(w, http.StatusBadRequest, "a name has only a-z, 0-9 and -")
		return
	}
	login := a.OAuth.Begin(kind, "")
	if !a.logins.add(wanted.Name, &pendingLogin{login: login, kind: kind}) {
		refuse(w, http.StatusTooManyRequests, "too many logins are waiting to be completed")
		return
	}
	writeJSON(w, struct {
		Name         string `json:"name"`
		AuthorizeURL string `json:"authorize_url"`
	}{wanted.Name, login.AuthorizeURL()})
}

func (a *Admin) completeLogin(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Code string `json:"code"`
	}
	if !readJSON(w, r, &given) {
		return
	}
	name := r.PathValue("name")
	code, state, ok := a.OAuth.SplitCode(given.Code)
	if !ok {
		refuse(w, http.StatusBadRequest, "paste the whole code, CODE#STATE, as the page shows it")
		return
	}
	l, right := a.logins.try(name, state)
	switch {
	case l == nil:
		refuse(w, http.StatusNotFound, "no login of that name waits to be completed: begin again")
		return
	case !right:
		refuse(w, http.StatusBadRequest, "this code does not belong to this login: use the page that was opened last, or begin again")
		return
	}
	sent := a.Clock.Now()
	grant, err := l.login.Exchange(r.Context(), code, state)
	if err != nil {
		a.logins.again(name, l)
		a.Log.Warn("login failed", "account", name, "error", err)
		refuse(w, http.StatusBadGateway, "the provider did not accept the code: open its page again for another code, or start over")
		return
	}
	if err := a.Store.Add(r.Context(), name, l.kind, grant, sent); err != nil {
		a.Log.Error("login could not be stored", "account", name, "error", err)
		refuse(w, http.StatusInternalServerError, "the account could not be written to the store: the log says why")
		return
	}
	a.Log.Info("account added", "account", name)
	refreshed := a.Refresh(r.Context()) == nil
	writeJSON(w, struct {
		Name   string `json:"name"`
		Stored bool   `json:"stored"`
		Live   bool   `json:"live"` // requests are served with it as of now
	}{name, true, refreshed && a.inUse(name)})
}

// inUse reports whether a running pool uses the store's entry of that name.
func (a *Admin) inUse(name string) bool {
	return slices.ContainsFunc(a.Providers(), func(p Provider) bool { return p.Pool != nil && p.Uses(name) })
}

// StoredAccount is an entry of the account store, without its tokens.
type StoredAccount struct {
	Name    string       `json:"name"`
	Kind    account.Kind `json:"kind,omitempty"`
	Expires *int64       `json:"expires"` // of the access token, Unix seconds
	UUID    *string      `json:"uuid"`
	Problem string       `json:"problem,omitempty"` // why the file is no usable entry
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
			s.Problem = "this file is no usable entry: the log says why"
		}
		list = append(list, s)
	}
	return list, nil
}

func (a *Admin) listAccounts(w http.ResponseWriter, r *http.Request) {
	list, err := a.stored(r)
	if err != nil {
		a.Log.Error("the account store cannot be listed", "error", err)
		refuse(w, http.StatusInternalServerError, "the account store cannot be read: the log says why")
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
		a.Log.Error("an account could not be removed", "account", name, "error", err)
		refuse(w, http.StatusInternalServerError, "the account could not be removed: the log says why")
	default:
		a.Log.Info("account removed", "account", name)
		_ = a.Refresh(r.Context()) // if the client does not wait for it, the watch of the store does it
		writeJSON(w, struct {
			Name    string `json:"name"`
			Removed bool   `json:"removed"`
		}{name, true})
	}
}
