// Package kimi is the family of Kimi accounts, which serve Kimi Code.
package kimi

import (
	"net/http"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/version"
)

// Family is the family of Kimi accounts (8-families).
var Family = family.Family{
	Name:     "kimi",
	Title:    "Kimi",
	Kind:     "anthropic",
	Auth:     "kimi_oauth",
	Provider: "kimi-code",
	BaseURL:  "https://api.kimi.com/coding",
	Hosts:    []string{"kimi.com"},

	Dialect:        messages.Dialect{},
	AccountHeaders: accountHeaders,

	Windows: windows,
	Quota: family.QuotaHeaders{
		Utilization:   "anthropic-ratelimit-unified-*-utilization",
		Reset:         "anthropic-ratelimit-unified-*-reset",
		Status:        "anthropic-ratelimit-unified-*-status",
		AccountReset:  "anthropic-ratelimit-unified-reset",
		AccountStatus: "anthropic-ratelimit-unified-status",
	}.Reader(windows),

	Rules:    rules,
	Statuses: map[int]family.Class{http.StatusPaymentRequired: family.PaymentRequired},
	Refine:   refine,

	Vendor:      vendor,
	Credentials: credentials,
}

// The indexes of the windows. The provider has not been seen to report any (8-families).
const (
	FiveHour = iota
	SevenDay
	WindowCount
)

// windows have the names of other families' windows of the same length, so that one setting applies to both.
var windows = quota.NewTable(
	quota.Window{Name: "5h", Field: "5h", Title: "five-hour window", Length: 5 * time.Hour},
	quota.Window{Name: "7d", Field: "7d", Title: "weekly window", Length: 7 * 24 * time.Hour},
)

// limited is how long an account cools down after a 429 (KIMI-3).
var limited = family.Cooldown{Otherwise: 60 * time.Second, Least: time.Second, Most: time.Hour}

// rules are the standard ones but for a 429, which does not say whether it is about quota: the next account gets the request
// (KIMI-3).
var rules = family.Standard.With(family.Throttled, family.Rule{
	Event: pool.Throttled, Cooldown: limited, Then: family.NextAccount, MessagesOnly: true,
})

// refine treats every 401 as one about the token (KIMI-3).
func refine(r *family.Response) (family.Verdict, bool) {
	return family.Verdict{Class: family.Unauthorized}, r.Failure == nil && r.Status == http.StatusUnauthorized
}

// accountHeaders names the device that the account's login is bound to (KIMI-2).
func accountHeaders(dst []family.HeaderField, a family.AccountInfo) []family.HeaderField {
	if a.DeviceID != "" {
		dst = append(dst, family.HeaderField{Name: deviceHeader, Value: a.DeviceID})
	}
	return append(dst,
		family.HeaderField{Name: platformHeader, Value: platform},
		family.HeaderField{Name: versionHeader, Value: version.String()})
}
