package config

import (
	"cmp"
	"net/url"
)

// preset holds the values of an upstream that the file does not set (CFG-22).
type preset struct {
	name      string
	kind      Kind
	baseURL   string
	auth      Auth
	keyEnv    string
	keyHeader KeyHeader
}

var presets = []preset{
	{name: "anthropic", kind: Anthropic, baseURL: "https://api.anthropic.com", auth: Passthrough},
	{name: "kimi", kind: Anthropic, baseURL: "https://api.moonshot.ai/anthropic", auth: APIKey, keyEnv: "MOONSHOT_API_KEY"},
	{name: "deepseek", kind: Anthropic, baseURL: "https://api.deepseek.com/anthropic", auth: APIKey, keyEnv: "DEEPSEEK_API_KEY"},
	{name: "zai", kind: Anthropic, baseURL: "https://api.z.ai/api/anthropic", auth: APIKey, keyEnv: "ZAI_API_KEY"},
	{name: "minimax", kind: Anthropic, baseURL: "https://api.minimax.io/anthropic", auth: APIKey, keyEnv: "MINIMAX_API_KEY"},
	{name: "openrouter", kind: Anthropic, baseURL: "https://openrouter.ai/api", auth: APIKey, keyEnv: "OPENROUTER_API_KEY"},
	{name: "vercel", kind: Anthropic, baseURL: "https://ai-gateway.vercel.sh", auth: APIKey, keyEnv: "AI_GATEWAY_API_KEY", keyHeader: XAPIKey},
}

// ownHeaders are the providers that take API keys only in a header of their own.
var ownHeaders = []struct {
	domain, title, written string
	header                 KeyHeader
}{
	{"anthropic.com", "Anthropic", "x-api-key", XAPIKey},
}

func presetNames() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}

// applyPresets fills in what upstreams do not set, from their presets and then from the defaults of [providers.*].
func (l *loader) applyPresets() {
	if !l.config.ordered {
		return
	}
	for i := range l.config.Providers {
		p := &l.config.Providers[i]
		for _, from := range presets {
			if from.name == p.Preset {
				from.fill(p)
			}
		}
		p.Auth = cmp.Or(p.Auth, Passthrough)
		p.APIKeyHeader = cmp.Or(p.APIKeyHeader, Bearer)
	}
}

func (from *preset) fill(p *Provider) {
	p.Kind = cmp.Or(p.Kind, from.kind)
	p.Auth = cmp.Or(p.Auth, from.auth)
	if p.BaseURL == nil {
		p.BaseURL, _ = url.Parse(from.baseURL) // a test parses them all
	}
	if p.Auth == APIKey {
		p.APIKeyEnv = cmp.Or(p.APIKeyEnv, from.keyEnv)
		p.APIKeyHeader = cmp.Or(p.APIKeyHeader, from.keyHeader)
	}
}
