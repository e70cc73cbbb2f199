package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// RTE-1, CHN-1: a mapping takes precedence over a route, and a route over the prefixes, in their order; other models go to the
// default provider. Case matters.
func TestRoute(t *testing.T) {
	chain := []Target{{"pool", "claude-sonnet-4-5"}, {"paid", "anthropic/claude-sonnet-4.5"}}
	c := &Config{
		Server: Server{DefaultProvider: "pool"},
		Models: []Model{
			{ID: "listed-only", DisplayName: "Listed"},
			{ID: "kimi-listed"},
			{ID: "sonnet", Upstreams: chain},
			{ID: "kimi-pinned", Upstreams: []Target{{"one", "k2"}}},
		},
		Routes: []Route{
			{Model: "opus", Provider: "one", UpstreamModel: "claude-opus-4-5"},
			{Model: "kimi-exact", Provider: "one"},
			{Model: "twice", Provider: "one"},
			{Model: "twice", Provider: "kimi"},
		},
		Prefixes: []Prefix{{"kimi-k2-", "paid"}, {"kimi-", "kimi"}, {"kimi-k3-", "one"}},
	}
	for model, want := range map[string][]Target{
		"sonnet":           chain,
		"sonnet[1m]":       chain,
		"sonnet[1M]":       chain,
		"kimi-pinned":      {{"one", "k2"}},
		"opus":             {{"one", "claude-opus-4-5"}},
		"opus[1m]":         {{"one", "claude-opus-4-5"}},
		"kimi-exact":       {{"one", "kimi-exact"}},
		"twice":            {{"one", "twice"}},
		"kimi-k2-turbo":    {{"paid", "kimi-k2-turbo"}},
		"kimi-k3-turbo":    {{"kimi", "kimi-k3-turbo"}},
		"kimi-":            {{"kimi", "kimi-"}},
		"kimi-listed":      {{"kimi", "kimi-listed"}},
		"kimi-other[1m]":   {{"kimi", "kimi-other"}},
		"listed-only":      {{"pool", "listed-only"}},
		"claude-haiku":     {{"pool", "claude-haiku"}},
		"claude[1m]":       {{"pool", "claude"}},
		"claude[1m][1M]":   {{"pool", "claude[1m]"}},
		"claude[1m]x":      {{"pool", "claude[1m]x"}},
		"sonnet[1m][1m]":   {{"pool", "sonnet[1m]"}},
		"[1m]":             {{"pool", ""}},
		"Sonnet":           {{"pool", "Sonnet"}},
		"Opus":             {{"pool", "Opus"}},
		"Kimi-k2-turbo":    {{"pool", "Kimi-k2-turbo"}},
		"not-kimi-k2-":     {{"pool", "not-kimi-k2-"}},
		"sonnet-something": {{"pool", "sonnet-something"}},
	} {
		if diff := cmp.Diff(want, c.Route(model)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", model, diff)
		}
	}
}

// RTE-1: RouteBy names the key that decides.
func TestRouteBy(t *testing.T) {
	c := &Config{
		Server:   Server{DefaultProvider: "pool"},
		Models:   []Model{{ID: "a", Upstreams: []Target{{"one", "a"}}}, {ID: "b"}},
		Routes:   []Route{{Model: "b", Provider: "one"}},
		Prefixes: []Prefix{{"c", "one"}},
	}
	for model, want := range map[string]string{"a": "models", "b[1m]": "routes", "cc": "route_prefixes", "d": "server.default_provider"} {
		if _, key := c.RouteBy(model); key != want {
			t.Errorf("%s: %s, want %s", model, key, want)
		}
	}
}
