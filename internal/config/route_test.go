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
		Server: Server{DefaultProviders: []string{"pool"}},
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
		if diff := cmp.Diff(want, c.Route(model, c.Server.DefaultProviders)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", model, diff)
		}
	}
}

// FAM-3: of several default providers, the first has every model; the others have those that a map names, or that are of the
// first one's kind.
func TestDefaultProviders(t *testing.T) {
	c := &Config{
		Providers: []Provider{
			{Name: "claude", Kind: Anthropic}, {Name: "chatgpt", Kind: Responses}, {Name: "paid", Kind: Anthropic}, {Name: "kimi", Kind: Anthropic},
		},
		Models: []Model{{ID: "pinned", Upstreams: []Target{{"paid", "p"}}}},
		ModelMaps: []ModelMap{
			{"chatgpt", []ModelName{{"claude-*", "gpt-5.5-mini"}, {"claude-opus-*", "gpt-5.5"}, {"claude-opus-4-5", "gpt-5.5-pro"}}},
			{"kimi", []ModelName{{"claude-opus-4-5", "kimi-k3"}}},
		},
	}
	defaults := []string{"claude", "chatgpt", "paid", "kimi"}
	for model, want := range map[string][]Target{
		"claude-haiku":        {{"claude", "claude-haiku"}, {"chatgpt", "gpt-5.5-mini"}, {"paid", "claude-haiku"}},
		"claude-opus-4-1[1m]": {{"claude", "claude-opus-4-1"}, {"chatgpt", "gpt-5.5"}, {"paid", "claude-opus-4-1"}},
		"claude-opus-4-5":     {{"claude", "claude-opus-4-5"}, {"chatgpt", "gpt-5.5-pro"}, {"paid", "claude-opus-4-5"}, {"kimi", "kimi-k3"}},
		"other":               {{"claude", "other"}, {"paid", "other"}},
		"pinned":              {{"paid", "p"}},
	} {
		if diff := cmp.Diff(want, c.Route(model, defaults)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", model, diff)
		}
	}
	if diff := cmp.Diff([]Target{{"chatgpt", "gpt-5.5-mini"}}, c.Route("claude-haiku", []string{"chatgpt"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pinned", "claude-opus-4-5"}, c.ModelNames()); diff != "" {
		t.Error(diff)
	}
}

// RTE-1: RouteBy names the key that decides.
func TestRouteBy(t *testing.T) {
	c := &Config{
		Server:   Server{DefaultProviders: []string{"pool"}},
		Models:   []Model{{ID: "a", Upstreams: []Target{{"one", "a"}}}, {ID: "b"}},
		Routes:   []Route{{Model: "b", Provider: "one"}},
		Prefixes: []Prefix{{"c", "one"}},
	}
	for model, want := range map[string]string{"a": "models", "b[1m]": "routes", "cc": "route_prefixes", "d": "server.default_provider"} {
		if _, key := c.RouteBy(model, c.Server.DefaultProviders); key != want {
			t.Errorf("%s: %s, want %s", model, key, want)
		}
	}
}
