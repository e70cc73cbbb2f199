package app

import (
	"net/http"

	"shunt/internal/account"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// newKeeper returns the keeper of the process's credentials. A credential that changes ends the cooldowns of the old one.
func newKeeper(a *App) (*account.Keeper, error) {
	getenv := userfile.Getenv(a.options.Env)
	var transport http.RoundTripper
	if a.options.Dial != nil {
		transport = &http.Transport{DialContext: a.options.Dial, DisableKeepAlives: true}
	}
	var kept []account.Family
	for _, f := range families {
		dir, err := account.StoreDir(f.Name, getenv)
		if err != nil {
			return nil, err
		}
		vendor, warnings := f.Vendor.Overridden(getenv)
		for _, warning := range warnings {
			a.options.Log.Warn(warning)
		}
		client := oauth.NewClient(vendor, transport)
		if a.oauth == nil { // the web surface adds accounts of the first family
			a.store, a.oauth = account.OpenStore(dir, f.Credentials), client
		}
		kept = append(kept, account.Family{Name: f.Name, Format: f.Credentials, Refresher: client, Dir: dir})
	}
	return account.NewKeeper(account.Options{
		Clock: a.options.Clock, Log: a.options.Log, Health: a.health, Families: kept, Getenv: getenv,
		OnChange: a.credentialChanged, OnRefresh: a.refreshed,
	}), nil
}

func (a *App) credentialChanged(key identity.Key) {
	a.registry.CredentialChanged(key)
	if a.poller != nil {
		a.poller.CredentialChanged(key)
	}
}
