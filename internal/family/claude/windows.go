package claude

import (
	"strings"
	"time"

	"shunt/internal/family"
	"shunt/internal/quota"
)

// The indexes of the windows.
const (
	FiveHour = iota
	SevenDay
	Fable
	WindowCount
)

// FableScope is the scope of the Fable models, which have a weekly window of their own.
const FableScope quota.Scope = "fable"

const week = 7 * 24 * time.Hour

var windows = quota.NewTable(
	quota.Window{Name: "5h", Field: "5h", Title: "five-hour window", Length: 5 * time.Hour},
	quota.Window{Name: "7d", Field: "7d", Title: "weekly window", Length: week},
	quota.Window{Name: "fable", Field: "7d_oi", Title: "weekly window of Fable models", Length: week, Scope: FableScope},
)

// quotaHeaders report the windows (QUO-1).
var quotaHeaders = family.QuotaHeaders{
	Utilization:   "anthropic-ratelimit-unified-*-utilization",
	Reset:         "anthropic-ratelimit-unified-*-reset",
	Status:        "anthropic-ratelimit-unified-*-status",
	AccountReset:  "anthropic-ratelimit-unified-reset",
	AccountStatus: "anthropic-ratelimit-unified-status",
}

func scopeOf(model string) quota.Scope {
	if strings.Contains(strings.ToLower(model), "fable") {
		return FableScope
	}
	return ""
}
