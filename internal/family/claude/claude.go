// Package claude is the family of Claude accounts.
package claude

import (
	"net/http"
	"slices"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
)

// Family is the family of Claude accounts (8-families).
var Family = family.Family{
	Name:        "claude",
	Title:       "Claude",
	Kind:        "anthropic",
	DefinesKind: true,
	Auth:        "claude_oauth",
	Provider:    "anthropic",
	Hosts:       []string{"anthropic.com"},

	Dialect:     messages.Dialect{},
	Accepts:     dialect.Accepts{Efforts: []string{"low", "medium", "high", "xhigh", "max"}, WebSearch: true},
	HeaderItems: []family.HeaderItem{{Name: "Anthropic-Beta", Item: oauthBeta}},

	Windows: windows,
	ScopeOf: scopeOf,
	Quota:   quotaHeaders.Reader(windows),
	Usage: &family.UsageEndpoint{
		Path:        "api/oauth/usage",
		Header:      http.Header{"Anthropic-Beta": {oauthBeta}, "Anthropic-Version": {"2023-06-01"}},
		Scope:       "user:profile",
		Parse:       parseUsage,
		ClientPaths: []string{"/api/oauth/usage"},
		Append:      appendUsage,
	},

	Rules:             family.Standard,
	RefusesCredential: refusesCredential,
	BindsReasoning:    bindsReasoning,

	Vendor:      vendor,
	Credentials: credentials,
	Program:     &family.Program{Name: "Claude Code", FindOrigin: findOrigin},
}

// oauthBeta is what the provider requires of a request with an OAuth token (WIRE-1).
const oauthBeta = "oauth-2025-04-20"

// refusesCredential knows the provider's texts. A 403 that names a model is about the request.
func refusesCredential(e dialect.Error) bool {
	if e.Kind != dialect.Permission {
		return false
	}
	message := strings.ToLower(e.Message)
	if strings.Contains(message, "model") || strings.Contains(message, "claude-") {
		return false
	}
	return strings.Contains(message, "oauth") || strings.Contains(message, "organization has been disabled") ||
		strings.TrimRight(strings.TrimSpace(message), ".") == "request not allowed"
}

// reasoningBound are the models that read the reasoning of earlier turns only on the account that wrote it (SEL-31). A name
// stands for its dated versions too.
var reasoningBound = []string{"claude-sonnet-5-5"}

func bindsReasoning(model string) bool {
	return slices.ContainsFunc(reasoningBound, func(bound string) bool {
		dated, ok := strings.CutPrefix(model, bound)
		return ok && (dated == "" || dated[0] == '-')
	})
}
