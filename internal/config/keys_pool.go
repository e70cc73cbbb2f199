package config

import (
	"math"
	"slices"
	"time"

	"shunt/internal/config/schema"
)

const poolDoc = "How the accounts of every pool are used. The table may be empty: that it is there makes pools plan. Of several free accounts the " +
	"one with the most headroom then comes first, which is the one that would last longest past its reset at its present pace. " +
	"Without the table, the account whose week resets first does. What an account says of itself goes before the defaults here."

func poolKeys(fs families) []schema.Key {
	return slices.Concat(
		[]schema.Key{{
			Name: "hard_threshold", Default: `0.98`,
			Binding: schema.Bind(fraction, func(p *Pool) *float64 { return &p.HardThreshold }),
			Doc: "An account that has used this fraction of a quota window counts as exhausted: it serves only when all others are near their limits, too. " +
				"No soft threshold lies above it.",
		}},
		fractions(fs,
			"default_threshold", func(p *Pool) *Fractions { return &p.Thresholds },
			"The `threshold` of accounts that have none: the fraction of a quota window from which an account counts as nearly used up. Default: `hard_threshold`.",
		),
		fractions(fs,
			"default_max_utilization", func(p *Pool) *Fractions { return &p.MaxUtilization },
			"The `max_utilization` of accounts that have none: the fraction of a quota window from which an account serves nothing at all. Default: none.",
		),
		[]schema.Key{
			{
				Name: "burn_rate_avoidance", Default: `false`,
				Binding: schema.Bind(schema.Boolean, func(p *Pool) *bool { return &p.BurnRateAvoidance }),
				Doc: "Also count an account as nearly used up when, at its present pace, it would reach its threshold before the window resets. " +
					"It then takes no new sessions, and none that have been idle for longer than `cache_ttl_seconds`; it keeps the others.",
			},
			{
				Name: "return_home", Default: `"always"`,
				Binding: schema.Bind(schema.Choice(ReturnAlways, ReturnWhenCold), func(p *Pool) *ReturnHome { return &p.ReturnHome }),
				Doc: "When a session that had to leave its account goes back to it. `always`: as soon as that account is usable again. `when_cold`: not before " +
					"the session has been idle for longer than `cache_ttl_seconds`, since its prompt would have to be written to the cache once more; " +
					"earlier only when the account it is on is nearly used up or fails, or when an operator clears the cooldown of its own.",
			},
			{
				Name: "cache_ttl_seconds", Default: `300`,
				Binding: schema.Bind(schema.Duration(1, time.Second, "(seconds)"), func(p *Pool) *time.Duration { return &p.CacheTTL }),
				Doc:     "How long the provider keeps a prompt in its cache after its last use. A session that has been idle for longer loses nothing by a move.",
			},
			{
				Name: "usage_refresh_seconds", Default: `0`, Restart: true,
				Binding: schema.Bind(interval(), func(p *Pool) *time.Duration { return &p.UsageRefresh }),
				Doc: "How often the provider is asked how much of each account's windows is used, which it otherwise tells only in answers. 0 turns it off, less than 60 " +
					"counts as 60. Accounts with a setup token cannot be asked.",
			},
			{
				Name: "state_path", Restart: true,
				Binding: schema.Bind(schema.Path, func(p *Pool) *string { return &p.StatePath }),
				Doc:     "A file in which shunt keeps what it knows of the accounts' quota over a restart. Off if it is not set.",
			},
			{
				Name: "ramp_initial_concurrency", Default: `0`,
				Binding: schema.Bind(schema.Whole[int](0, math.MaxInt32, ""), func(p *Pool) *int { return &p.RampInitialConcurrency }),
				Doc: "How many requests at once an account gets when it begins to serve, or begins again after a failure or a minute of rest; each success doubles it. " +
					"So a crowd of sessions that moves does not fall upon one account. 0 turns it off.",
			},
		},
	)
}

// fractions returns a key for all windows, and one for each window that takes precedence over it.
func fractions[O any](fs families, name string, field func(*O) *Fractions, doc string) []schema.Key {
	keys := []schema.Key{{
		Name: name, Doc: doc,
		Binding: schema.Bind(schema.Optional(fraction), func(o *O) **float64 { return &field(o).All }),
	}}
	for _, w := range fs.windows() {
		keys = append(keys, schema.Key{
			Name: name + "_" + w.Name, Doc: "The same for the " + w.Title + " alone. Default: `" + name + "`.",
			Binding: schema.BindFunc(fraction,
				func(o *O) float64 { return field(o).Windows[w.Name] },
				func(o *O, value float64) { field(o).set(w.Name, value) }),
		})
	}
	return keys
}
