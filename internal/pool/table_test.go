package pool

import (
	"time"

	"shunt/internal/clock"
	"shunt/internal/quota"
)

const week = 7 * 24 * time.Hour

// The tables of the tests' families: "claude" has a window of five hours, one of a week, and a week of one scope; "two" has two
// scopes; "plain" has none, and windows of other lengths.
var Tables = map[string]*quota.Table{
	"claude": quota.NewTable(
		quota.Window{Name: "5h", Field: "5h", Length: 5 * time.Hour},
		quota.Window{Name: "7d", Field: "7d", Length: week},
		quota.Window{Name: "fable", Field: "7d_oi", Length: week, Scope: Fable},
	),
	"two": quota.NewTable(
		quota.Window{Name: "day", Field: "1d", Length: 24 * time.Hour},
		quota.Window{Name: "big", Field: "1d_big", Length: 24 * time.Hour, Scope: "big"},
		quota.Window{Name: "fast", Field: "1h_fast", Length: time.Hour, Scope: "fast"},
	),
	"plain": quota.NewTable(
		quota.Window{Name: "30d", Field: "30d", Length: 30 * 24 * time.Hour},
		quota.Window{Name: "3h", Field: "3h", Length: 3 * time.Hour},
	),
}

// The indexes of the windows of "claude".
const (
	FiveHour = iota
	SevenDay
	FableWeek
)

// The scopes of requests for "claude".
const (
	NoScope quota.Scope = ""
	Fable   quota.Scope = "fable"
)

// NewTestRegistry returns an empty registry of these families.
func NewTestRegistry() *Registry { return NewRegistry(clock.Clock{}, Tables) }

func newHealth() *Health { return new(NewHealth(Tables["claude"])) }

// FableIf returns the scope of a request, which is for a Fable model or not.
func FableIf(is bool) quota.Scope {
	if is {
		return Fable
	}
	return NoScope
}
