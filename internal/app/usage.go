package app

import "shunt/internal/usage"

// usage is the standing of every pool, for those who may ask how much of the accounts is used.
func (a *App) usage() []usage.Provider {
	var pools []usage.Provider
	for _, p := range a.config.Load().Providers {
		if p.Pool() {
			pools = append(pools, usage.Provider{Name: p.Name, Accounts: a.Pool(p.Name)})
		}
	}
	return pools
}
