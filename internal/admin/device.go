package admin

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"shunt/internal/oauth"
)

// devices are the logins by device code that wait for a person, or have ended lately: one for each account (GPT-9, KIMI-1).
type devices struct {
	ctx   context.Context // of the waits
	end   context.CancelFunc
	waits sync.WaitGroup

	mu  sync.Mutex
	all map[entry]*deviceLogin
}

// deviceLogin is a login by device code.
type deviceLogin struct {
	cancel  context.CancelFunc
	expires time.Time
	state   deviceState
}

// deviceState is how a login stands, as the API says it.
type deviceState struct {
	Status  string `json:"status"`            // one of those below
	Problem string `json:"problem,omitempty"` // of one that failed
	Live    bool   `json:"live,omitempty"`    // new requests are served with the account
}

const (
	deviceWaiting = "waiting"
	deviceStored  = "stored"
	deviceFailed  = "failed"
)

func (d *devices) open() {
	d.ctx, d.end = context.WithCancel(context.Background())
	d.all = map[entry]*deviceLogin{}
}

// close ends the logins that wait, and returns when they have ended.
func (d *devices) close() {
	d.end()
	d.waits.Wait()
}

// add adds a login and ends an older one of the same account. It returns false if too many wait.
func (d *devices) add(e entry, expires time.Time) (ctx context.Context, l *deviceLogin, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, old := range d.all {
		if old.state.Status != deviceWaiting && time.Now().After(old.expires) {
			delete(d.all, key)
		}
	}
	if old := d.all[e]; old != nil {
		old.cancel()
	} else if len(d.all) >= maxPending || d.ctx.Err() != nil {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(d.ctx)
	l = &deviceLogin{cancel: cancel, expires: expires, state: deviceState{Status: deviceWaiting}}
	d.all[e] = l
	return ctx, l, true
}

// set records how a login has ended.
func (d *devices) set(l *deviceLogin, s deviceState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.state = s
	l.cancel()
}

// state returns how the login of an account stands. It reports false if there is none.
func (d *devices) state(e entry) (s deviceState, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.all[e]
	if ok {
		s = l.state
	}
	return s, ok
}

// remove ends the login of an account, and forgets it. It reports false if there is none.
func (d *devices) remove(e entry) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.all[e]
	if ok {
		l.cancel()
		delete(d.all, e)
	}
	return ok
}

// beginDevice begins a login by device code. The account is stored when the person has allowed it.
func (a *Admin) beginDevice(w http.ResponseWriter, r *http.Request, f Family, name string) {
	device, err := f.OAuth.BeginDevice(r.Context())
	if err != nil {
		a.Log.Warn("login failed", "account", name, "error", err)
		refuse(w, http.StatusBadGateway, "the provider did not begin a login: try again later")
		return
	}
	e := entry{f.Name, name}
	ctx, l, ok := a.devices.add(e, device.Expires)
	if !ok {
		refuse(w, http.StatusTooManyRequests, tooManyLogins)
		return
	}
	a.devices.waits.Go(func() { a.devices.set(l, a.finishDevice(ctx, f, e, device)) })
	writeJSON(w, struct {
		Name    string `json:"name"`
		Code    string `json:"user_code"`
		Page    string `json:"page"`
		Expires int64  `json:"expires"` // Unix seconds
	}{name, device.Code, device.Page, device.Expires.Unix()})
}

// finishDevice waits until the person has allowed a login, and stores it.
func (a *Admin) finishDevice(ctx context.Context, f Family, e entry, device *oauth.Device) deviceState {
	grant, err := device.Wait(ctx)
	switch {
	case ctx.Err() != nil:
		return deviceState{Status: deviceFailed, Problem: "the login was canceled"}
	case errors.Is(err, oauth.ErrDenied):
		return deviceState{Status: deviceFailed, Problem: "the login was denied on the provider's page"}
	case err != nil:
		a.Log.Warn("login failed", "account", e.name, "error", err)
		return deviceState{Status: deviceFailed, Problem: "the login was not allowed in time, or the provider did not accept it: start again"}
	}
	stored := context.WithoutCancel(ctx)
	if err := f.Store.Add(stored, e.name, oauth.Renewable, grant, device.Requested); err != nil {
		a.Log.Error("could not store login", "account", e.name, "error", err)
		return deviceState{Status: deviceFailed, Problem: "could not store the account: see the log"}
	}
	a.Log.Info("account added", "account", e.name)
	refreshed := a.Refresh(ctx) == nil
	return deviceState{Status: deviceStored, Live: refreshed && a.inUse(e)}
}

func (a *Admin) showDevice(w http.ResponseWriter, r *http.Request, f Family) {
	s, ok := a.devices.state(entry{f.Name, r.PathValue("name")})
	if !ok {
		refuse(w, http.StatusNotFound, noLogin)
		return
	}
	writeJSON(w, s)
}

func (a *Admin) cancelDevice(w http.ResponseWriter, r *http.Request, f Family) {
	if !a.devices.remove(entry{f.Name, r.PathValue("name")}) {
		refuse(w, http.StatusNotFound, noLogin)
		return
	}
	writeJSON(w, struct {
		Canceled bool `json:"canceled"`
	}{true})
}
