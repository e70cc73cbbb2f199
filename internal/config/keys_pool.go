package config

import (
	"math"
	"slices"
	"time"
)

const poolDoc = "How the accounts of every pool are used. The table may be empty: that it is there makes pools plan. Of several free accounts the " +
	"one with the most headroom then comes first, which is the one that would last longest past its reset at its present pace. " +
	"Without the table, the account whose week resets first does. What an account says of itself goes before the defaults here."

var poolKeys = slices.Concat(
	[]key{{
		name: "hard_threshold", def: `0.98`,
		binding: to(fraction, func(p *Pool) *float64 { return &p.HardThreshold }),
		doc: "An account that has used this fraction of a quota window counts as exhausted: it serves only when all others are near their limits, too. " +
			"No soft threshold lies above it.",
	}},
	fractions(
		"default_threshold", func(p *Pool) *Fractions { return &p.Thresholds },
		"The `threshold` of accounts that have none: the fraction of a quota window from which an account counts as nearly used up. Default: `hard_threshold`.",
	),
	fractions(
		"default_max_utilization", func(p *Pool) *Fractions { return &p.MaxUtilization },
		"The `max_utilization` of accounts that have none: the fraction of a quota window from which an account serves nothing at all. Default: none.",
	),
	[]key{
		{
			name: "burn_rate_avoidance", def: `false`,
			binding: to(boolean, func(p *Pool) *bool { return &p.BurnRateAvoidance }),
			doc: "Also count an account as nearly used up when, at its present pace, it would reach its threshold before the window resets. " +
				"It then takes no new sessions, and none that have been idle for longer than `cache_ttl_seconds`; it keeps the others.",
		},
		{
			name: "return_home", def: `"always"`,
			binding: to(choice(ReturnAlways, ReturnWhenCold), func(p *Pool) *ReturnHome { return &p.ReturnHome }),
			doc: "When a session that had to leave its account goes back to it. `always`: as soon as that account is usable again. `when_cold`: not before " +
				"the session has been idle for longer than `cache_ttl_seconds`, since its prompt would have to be written to the cache once more; " +
				"earlier only when the account it is on is nearly used up or fails, or when an operator clears the cooldown of its own.",
		},
		{
			name: "cache_ttl_seconds", def: `300`,
			binding: to(duration(1, time.Second, "(seconds)"), func(p *Pool) *time.Duration { return &p.CacheTTL }),
			doc:     "How long the provider keeps a prompt in its cache after its last use. A session that has been idle for longer loses nothing by a move.",
		},
		{
			name: "usage_refresh_seconds", def: `0`, restart: true,
			binding: to(interval(), func(p *Pool) *time.Duration { return &p.UsageRefresh }),
			doc: "How often the provider is asked how much of each account's windows is used, which it otherwise tells only in answers. 0 turns it off, less than 60 " +
				"counts as 60. Accounts with a setup token cannot be asked.",
		},
		{
			name: "state_path", restart: true,
			binding: to(filePath, func(p *Pool) *string { return &p.StatePath }),
			doc:     "A file in which shunt keeps what it knows of the accounts' quota over a restart. Off if it is not set.",
		},
		{
			name: "ramp_initial_concurrency", def: `0`,
			binding: to(whole[int](0, math.MaxInt32, ""), func(p *Pool) *int { return &p.RampInitialConcurrency }),
			doc: "How many requests at once an account gets when it begins to serve, or begins again after a failure or a minute of rest; each success doubles it. " +
				"So a crowd of sessions that moves does not fall upon one account. 0 turns it off.",
		},
	},
)

// fractions are four keys: one for all windows, and one for each that goes before it.
func fractions[O any](name string, field func(*O) *Fractions, doc string) []key {
	one := func(suffix, doc string, of func(*Fractions) **float64) key {
		return key{
			name: name + suffix, doc: doc,
			binding: to(optional(fraction), func(o *O) **float64 { return of(field(o)) }),
		}
	}
	of := func(window string) string {
		return "The same for the " + window + " alone. Default: `" + name + "`."
	}
	return []key{
		one("", doc, func(f *Fractions) **float64 { return &f.All }),
		one("_5h", of("five-hour window"), func(f *Fractions) **float64 { return &f.FiveHour }),
		one("_7d", of("weekly window"), func(f *Fractions) **float64 { return &f.SevenDay }),
		one("_fable", of("weekly window of Fable models"), func(f *Fractions) **float64 { return &f.Fable }),
	}
}
