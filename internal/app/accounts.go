package app

import (
	"net/http"

	"shunt/internal/account"
	"shunt/internal/admin"
	"shunt/internal/config"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// openAccounts sets the keeper of the credentials of all families, and the account store and the login client of the web surface.
func (a *App) openAccounts() error {
	getenv := userfile.Getenv(a.options.Env)
	var transport http.RoundTripper
	if a.options.Dial != nil {
		transport = &http.Transport{DialContext: a.options.Dial, DisableKeepAlives: true}
	}
	kept := make([]account.Family, len(a.families))
	for i, f := range a.families {
		dir, err := account.StoreDir(f.StoreName(), getenv)
		if err != nil {
			return err
		}
		vendor, warnings := f.Vendor.Overridden(getenv)
		for _, warning := range warnings {
			a.options.Log.Warn(warning)
		}
		client := oauth.NewClient(vendor, transport)
		kept[i] = account.Family{Name: f.Name, Login: f.StoreName(), Format: f.Credentials, Refresher: client, Dir: dir}
		login := admin.Family{
			Name: f.Name, Title: f.Title, Store: account.OpenStore(dir, f.Credentials), SetupTokens: vendor.SetupLifetime > 0, Windows: f.Windows,
		}
		login.OAuth, login.Pasted, login.Devices = client, vendor.ManualRedirect != "", client.HasDeviceFlow()
		a.logins = append(a.logins, login)
	}
	a.keeper = account.NewKeeper(account.Options{
		Clock: a.options.Clock, Log: a.options.Log, Health: a.health, Families: kept, Getenv: getenv,
		OnChange: a.credentialChanged, OnRefresh: a.refreshed,
	})
	return nil
}

// credentialChanged ends the cooldowns of an identity's old credential (TOK-7).
func (a *App) credentialChanged(key identity.Key) {
	a.registry.CredentialChanged(key)
	if a.poller != nil {
		a.poller.CredentialChanged(key)
	}
}

// specsOf returns the configured accounts of a pool.
func specsOf(p *config.Provider) []account.Spec {
	specs := make([]account.Spec, len(p.Accounts))
	for i, c := range p.Accounts {
		specs[i] = account.Spec{
			Name: c.Name, Credentials: c.Credentials, TokenEnv: c.TokenEnv,
			UUID: c.UUID, OrganizationUUID: c.OrganizationUUID,
		}
	}
	return specs
}
