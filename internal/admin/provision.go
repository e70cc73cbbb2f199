package admin

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/oauth"
	"shunt/internal/quota"
)

// Family is a family of accounts, which are added and removed here (ADM-5).
type Family struct {
	Name        string         // in paths
	Title       string         // for people
	Store       *account.Store // of its accounts
	OAuth       *oauth.Client  // of logins
	Pasted      bool           // people can log in with a code that the provider's page shows them (ADM-5)
	Devices     bool           // people can log in with a code that they type on the provider's page
	SetupTokens bool           // whether there are setup tokens
	Windows     *quota.Table   // of its accounts
}

// provisionRoutes adds the routes of each family.
func (a *Admin) provisionRoutes(mux *http.ServeMux) {
	for _, f := range a.Families {
		path := "/admin/api/accounts/" + f.Name
		if f.Pasted || f.Devices {
			mux.HandleFunc("POST "+path, a.writes(func(w http.ResponseWriter, r *http.Request) { a.beginLogin(w, r, f) }))
		}
		if f.Pasted {
			mux.HandleFunc("POST "+path+"/{name}/complete", a.writes(func(w http.ResponseWriter, r *http.Request) { a.completeLogin(w, r, f) }))
		}
		if f.Devices {
			mux.HandleFunc("GET "+path+"/{name}/device", a.writes(func(w http.ResponseWriter, r *http.Request) { a.showDevice(w, r, f) }))
			mux.HandleFunc("DELETE "+path+"/{name}/device", a.writes(func(w http.ResponseWriter, r *http.Request) { a.cancelDevice(w, r, f) }))
		}
		mux.HandleFunc("DELETE "+path+"/{name}", a.writes(func(w http.ResponseWriter, r *http.Request) { a.removeAccount(w, r, f) }))
	}
}

// pending holds the logins that were started in a browser and are not completed (ADM-5), one for each account.
type pending struct {
	clock clock.Clock
	ttl   time.Duration

	mu  sync.Mutex
	all map[entry]*pendingLogin
}

// entry is the place of an account in the store of its family.
type entry struct{ family, name string }

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

// add adds a login and replaces an older one of the same account. It returns false if too many are pending.
func (p *pending) add(e entry, l *pendingLogin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[entry]*pendingLogin{}
	}
	now := p.clock.Now()
	for key, old := range p.all {
		if !old.expires.After(now) {
			delete(p.all, key)
		}
	}
	if _, replaces := p.all[e]; !replaces && len(p.all) >= maxPending {
		return false
	}
	l.expires = now.Add(p.ttl)
	p.all[e] = l
	return true
}

// try uses one try of a login and reports whether the state is that of the login. Then it removes the login, because a code works
// only once. It returns nil if no login is pending for the account.
func (p *pending) try(e entry, state string) (l *pendingLogin, owned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l = p.all[e]
	if l == nil || !l.expires.After(p.clock.Now()) {
		return nil, false
	}
	l.tries++
	owned = l.login.Owns(state)
	if owned || l.tries >= maxCodeTries {
		delete(p.all, e)
	}
	return l, owned
}

// retry restores a login whose code was rejected, unless it has no tries left or another login was started meanwhile.
func (p *pending) retry(e entry, l *pendingLogin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[e] == nil && l.tries < maxCodeTries {
		p.all[e] = l
	}
}

// The modes of a login.
const (
	modeOAuth      = "oauth"
	modeSetupToken = "setup_token"
	modeDevice     = "device"
)

// modes returns the modes of logins that the family offers.
func (f *Family) modes() (modes []string) {
	if f.Pasted {
		modes = append(modes, modeOAuth)
	}
	if f.Pasted && f.SetupTokens {
		modes = append(modes, modeSetupToken)
	}
	if f.Devices {
		modes = append(modes, modeDevice)
	}
	return modes
}

const (
	tooManyLogins = "too many logins are pending: complete one, or try again later"
	noLogin       = "no login is pending for this name: start again"
)

func (a *Admin) beginLogin(w http.ResponseWriter, r *http.Request, f Family) {
	var wanted struct {
		Name string `json:"name"`
		Mode string `json:"mode"`
	}
	if !readJSON(w, r, &wanted) {
		return
	}
	if modes := f.modes(); !slices.Contains(modes, wanted.Mode) {
		refuse(w, http.StatusBadRequest, `mode must be "`+strings.Join(modes, `" or "`)+`"`)
		return
	}
	if err := account.CheckName(wanted.Name); err != nil {
		refuse(w, http.StatusBadRequest, "a name may contain only a-z, 0-9 and -")
		return
	}
	if wanted.Mode == modeDevice {
		a.beginDevice(w, r, f, wanted.Name)
		return
	}
	kind := oauth.Renewable
	if wanted.Mode == modeSetupToken {
		kind = oauth.SetupToken
	}
	login := f.OAuth.Begin(kind, "")
	if !a.logins.add(entry{f.Name, wanted.Name}, &pendingLogin{login: login, kind: kind}) {
		refuse(w, http.StatusTooManyRequests, tooManyLogins)
		return
	}
	writeJSON(w, struct {
		Name         string `json:"name"`
		AuthorizeURL string `json:"authorize_url"`
	}{wanted.Name, login.AuthorizeURL()})
}

func (a *Admin) completeLogin(w http.ResponseWriter, r *http.Request, f Family) {
	var sent struct {
		Code string `json:"code"`
	}
	if !readJSON(w, r, &sent) {
		return
	}
	name := r.PathValue("name")
	code, state, ok := f.OAuth.SplitCode(sent.Code)
	if !ok {
		refuse(w, http.StatusBadRequest, "paste the whole code, as the page shows it")
		return
	}
	e := entry{f.Name, name}
	l, owned := a.logins.try(e, state)
	switch {
	case l == nil:
		refuse(w, http.StatusNotFound, noLogin)
		return
	case !owned:
		refuse(w, http.StatusBadRequest, "this code does not belong to this login: use the page that you opened last, or start again")
		return
	}
	sentAt := a.Clock.Now()
	grant, err := l.login.Exchange(r.Context(), code, state)
	if err != nil {
		a.logins.retry(e, l)
		a.Log.Warn("login failed", "account", name, "error", err)
		refuse(w, http.StatusBadGateway, "the provider did not accept the code: open its page again for a new code, or start again")
		return
	}
	if err := f.Store.Add(r.Context(), name, l.kind, grant, sentAt); err != nil {
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
	}{name, true, refreshed && a.inUse(e)})
}

// inUse reports whether a running pool uses the account.
func (a *Admin) inUse(e entry) bool {
	return slices.ContainsFunc(a.Providers(), func(p Provider) bool { return p.Pool != nil && p.Family == e.family && p.Uses(e.name) })
}

// StoredAccount describes an entry of an account store, without its tokens.
type StoredAccount struct {
	Family  string       `json:"family,omitempty"` // unless all are of the first family
	Name    string       `json:"name"`
	Kind    account.Kind `json:"kind,omitempty"`
	Expires *int64       `json:"expires"` // of the access token, Unix seconds
	UUID    *string      `json:"uuid"`
	Problem string       `json:"problem,omitempty"` // why the entry is not usable
}

func (a *Admin) stored(r *http.Request) ([]StoredAccount, error) {
	list := []StoredAccount{}
	for _, f := range a.Families {
		entries, err := f.Store.Entries(r.Context())
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			s := StoredAccount{Family: f.Name, Name: e.Name, Kind: e.Kind, Expires: unix(e.Expires, !e.Expires.IsZero()), UUID: text(e.AccountUUID)}
			if e.Problem != nil {
				s.Problem = "this file is not a valid entry: see the log"
			}
			list = append(list, s)
		}
	}
	if !slices.ContainsFunc(list, func(s StoredAccount) bool { return s.Family != a.Families[0].Name }) {
		for i := range list {
			list[i].Family = ""
		}
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

func (a *Admin) removeAccount(w http.ResponseWriter, r *http.Request, f Family) {
	name := r.PathValue("name")
	switch err := f.Store.Remove(r.Context(), name); {
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
