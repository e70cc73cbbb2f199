package app

import (
	"context"
	"errors"

	"shunt/internal/family"
	"shunt/internal/gateway"
)

// fixedEndpoints returns the endpoints for the providers' own programs at which shunt responds by itself (GPT-10).
func (a *App) fixedEndpoints() (endpoints []gateway.FixedEndpoint) {
	for _, f := range a.families {
		for _, e := range f.Fixed {
			endpoints = append(endpoints, gateway.FixedEndpoint(e))
		}
	}
	return endpoints
}

// clientLists returns the lists of models in the forms of the providers' own programs (GPT-10).
func (a *App) clientLists() (lists []gateway.ClientList) {
	for _, f := range a.families {
		if l := f.ModelList; l != nil {
			lists = append(lists, gateway.ClientList{Query: l.Query, Paths: l.ClientPaths, Fetch: func(ctx context.Context, query string) ([]byte, error) {
				return a.clientModels(ctx, f, query)
			}})
		}
	}
	return lists
}

var errNoPool = errors.New("no provider has accounts of this family")

// clientModels returns the list of models of the first pool of a family.
func (a *App) clientModels(ctx context.Context, f *family.Family, query string) ([]byte, error) {
	s := a.serving.Load()
	for i := range s.config.Providers {
		if p := &s.config.Providers[i]; p.Pool() && a.families.of(p) == f {
			return s.pools[p.Name].ClientModels(ctx, query)
		}
	}
	return nil, errNoPool
}
