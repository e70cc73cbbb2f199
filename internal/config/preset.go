package config

import (
	"cmp"
	"net/url"
	"slices"
)

// preset holds the values of an upstream that the file does not set (CFG-22, FAM-3).
type preset struct {
	name      string
	kind      Kind
	baseURL   string
	auth      Auth
	keyEnv    string
	keyHeader KeyHeader
	accepts   Accepts
}

var (
	openAIEfforts = []string{"none", "low", "medium", "high", "xhigh"}
	threeEfforts  = []string{"low", "medium", "high"}
)

var presets = []preset{
	{name: "anthropic", kind: Anthropic, baseURL: "https://api.anthropic.com", auth: Passthrough, accepts: Accepts{
		Efforts: []string{"low", "medium", "high", "xhigh", "max"}, WebSearch: true,
	}},
	{name: "kimi", kind: Anthropic, baseURL: "https://api.moonshot.ai/anthropic", auth: APIKey, keyEnv: "MOONSHOT_API_KEY"},
	{name: "deepseek", kind: Anthropic, baseURL: "https://api.deepseek.com/anthropic", auth: APIKey, keyEnv: "DEEPSEEK_API_KEY"},
	{name: "zai", kind: Anthropic, baseURL: "https://api.z.ai/api/anthropic", auth: APIKey, keyEnv: "ZAI_API_KEY"},
	{name: "minimax", kind: Anthropic, baseURL: "https://api.minimax.io/anthropic", auth: APIKey, keyEnv: "MINIMAX_API_KEY"},
	{name: "openrouter", kind: Anthropic, baseURL: "https://openrouter.ai/api", auth: APIKey, keyEnv: "OPENROUTER_API_KEY"},
	{name: "vercel", kind: Anthropic, baseURL: "https://ai-gateway.vercel.sh", auth: APIKey, keyEnv: "AI_GATEWAY_API_KEY", keyHeader: XAPIKey},
	{name: "openai", kind: Responses, baseURL: "https://api.openai.com/v1", auth: APIKey, keyEnv: "OPENAI_API_KEY", accepts: Accepts{
		Efforts: openAIEfforts, MaxOutputTokens: 128_000, WebSearch: true,
	}},
	{name: "xai", kind: Responses, baseURL: "https://api.x.ai/v1", auth: APIKey, keyEnv: "XAI_API_KEY", accepts: Accepts{
		Efforts: threeEfforts, Sampling: true, WebSearch: true,
	}},
	{name: "moonshot", kind: Chat, baseURL: "https://api.moonshot.ai/v1", auth: APIKey, keyEnv: "MOONSHOT_API_KEY", accepts: Accepts{ReturnsReasoning: true}},
	{name: "groq", kind: Chat, baseURL: "https://api.groq.com/openai/v1", auth: APIKey, keyEnv: "GROQ_API_KEY", accepts: Accepts{
		MaxCompletionTokens: true, ReasoningEffort: true, Efforts: threeEfforts,
	}},
	{name: "mistral", kind: Chat, baseURL: "https://api.mistral.ai/v1", auth: APIKey, keyEnv: "MISTRAL_API_KEY"},
	{name: "together", kind: Chat, baseURL: "https://api.together.xyz/v1", auth: APIKey, keyEnv: "TOGETHER_API_KEY"},
	{name: "ollama", kind: Chat, baseURL: "http://127.0.0.1:11434/v1", auth: None},
	{name: "gemini", kind: Gemini, baseURL: "https://generativelanguage.googleapis.com", auth: APIKey, keyEnv: "GEMINI_API_KEY", keyHeader: XGoogAPIKey, accepts: Accepts{
		MaxOutputTokens: 65_536,
	}},
}

// ownHeaders are the providers that take API keys only in a header of their own.
var ownHeaders = []struct {
	domain, title, written string
	header                 KeyHeader
}{
	{"anthropic.com", "Anthropic", "x-api-key", XAPIKey},
	{"googleapis.com", "Google", "x-goog-api-key", XGoogAPIKey},
}

// presets returns all presets: those of the families' pools come last.
func (fs families) presets() []preset {
	all := slices.Clone(presets)
	for _, f := range fs {
		if f.Preset != "" {
			all = append(all, preset{name: f.Preset, kind: f.Kind, baseURL: f.BaseURL, auth: f.Auth})
		}
	}
	return all
}

func (fs families) presetNames() []string {
	all := fs.presets()
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	return names
}

// applyPresets fills in what upstreams do not set, from their presets and then from the defaults of [providers.*].
func (l *loader) applyPresets() {
	if !l.config.ordered {
		return
	}
	all := l.families.presets()
	for i := range l.config.Providers {
		p := &l.config.Providers[i]
		for _, from := range all {
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
	p.Accepts = from.accepts
	if p.BaseURL == nil {
		p.BaseURL, _ = url.Parse(from.baseURL) // a test parses them all
	}
	if p.Auth == APIKey {
		p.APIKeyEnv = cmp.Or(p.APIKeyEnv, from.keyEnv)
		p.APIKeyHeader = cmp.Or(p.APIKeyHeader, from.keyHeader)
	}
}
