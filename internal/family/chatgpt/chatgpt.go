// Package chatgpt is the family of ChatGPT accounts, which serve Codex.
package chatgpt

import (
	"net/http"

	"shunt/internal/dialect"
	"shunt/internal/dialect/responses"
	"shunt/internal/family"
)

// Family is the family of ChatGPT accounts (8-families).
var Family = family.Family{
	Name:     "chatgpt",
	Store:    "codex",
	Title:    "ChatGPT",
	Kind:     "responses",
	Auth:     "chatgpt_oauth",
	Provider: "codex",
	BaseURL:  "https://chatgpt.com/backend-api",
	Hosts:    []string{"chatgpt.com"},

	Dialect:        responses.Dialect{},
	Path:           "/codex/responses",
	StreamOnly:     true,
	Accepts:        dialect.Accepts{Efforts: []string{"low", "medium", "high", "xhigh"}, OmitMaxTokens: true, WebSearch: true}, // GPT-5
	Translated:     []dialect.Field{{Name: "Originator", Value: "shunt"}},                                                      // FAM-5
	SessionHeaders: []string{"Session-Id", "Thread-Id"},
	AccountHeaders: accountHeaders,
	Route:          &family.RouteEndpoint{Path: "wham/accounts/check", Header: "X-Openai-Account-Routing-Override", Parse: parseRoute},
	StickyHeader:   "X-Codex-Turn-State",
	ModelHeader:    "Openai-Model",

	Windows:    windows,
	Quota:      readQuota,
	QuotaEvent: readQuotaEvent,
	Usage:      &family.UsageEndpoint{Path: "wham/usage", Parse: parseUsage, Append: appendUsage, ClientPaths: usagePaths},

	Rules:             family.Standard,
	Statuses:          map[int]family.Class{http.StatusPaymentRequired: family.PaymentRequired},
	Refine:            refine,
	RefusesCredential: refusesCredential,

	Fixed:     fixed,
	ModelList: &family.ModelList{Path: "codex/models", Query: "client_version", ClientPaths: below("/models")},

	Vendor:      vendor,
	Credentials: credentials,
	Program:     &family.Program{Name: "Codex", FindOrigin: findOrigin},
}

// accountHeaders names the account, of those that the person of the token may use.
func accountHeaders(dst []family.HeaderField, a family.AccountInfo) []family.HeaderField {
	return append(dst, family.HeaderField{Name: accountID, Value: a.ID})
}
