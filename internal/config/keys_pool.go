package config

import (
	"math"
	"slices"
	"time"

	"shunt/internal/config/schema"
)

const poolDoc = "How the accounts of every pool are used. With this table, even if empty, pools plan ahead: of several free accounts, the " +
	"one with the most headroom comes first, which is the one that would last longest past its reset at its current pace. " +
	"Without the table, it is the account whose longest window resets first. The settings of an account take precedence over the defaults here."

func poolKeys(fs families) []schema.Key {
	return slices.Concat(
		[]schema.Key{{
			Name: "hard_threshold", Default: `0.98`,
			Binding: schema.Bind(fraction, func(p *Pool) *float64 { return &p.HardThreshold }),
			Doc: "An account that has used this fraction of a quota window counts as exhausted: it serves only when all others are near their limits too. " +
				"Thresholds of accounts above this value act like it.",
		}},
		fractions(fs,
			"default_threshold", func(p *Pool) *Fractions { return &p.Thresholds },
			"The `threshold` of accounts that set none: the fraction of a quota window from which an account is near its limit. Default: `hard_threshold`.",
		),
		fractions(fs,
			"default_max_utilization", func(p *Pool) *Fractions { return &p.MaxUtilization },
			"The `max_utilization` of accounts that set none: the fraction of a quota window from which an account serves nothing. Default: none.",
		),
		[]schema.Key{
			{
				Name: "burn_rate_avoidance", Default: `false`,
				Binding: schema.Bind(schema.Boolean, func(p *Pool) *bool { return &p.BurnRateAvoidance }),
				Doc: "Also treat an account as near its limit when, at its current pace, it would reach its threshold before the window resets. " +
					"Such an account gets no new sessions, and none that have been idle for longer than `cache_ttl_seconds`; it keeps its other sessions.",
			},
			{
				Name: "return_home", Default: `"always"`,
				Binding: schema.Bind(schema.Choice(ReturnAlways, ReturnWhenCold), func(p *Pool) *ReturnHome { return &p.ReturnHome }),
				Doc: "When a session that had to leave its account returns to it. `always`: as soon as that account is usable again. `when_cold`: not before " +
					"the session has been idle for longer than `cache_ttl_seconds`, because its prompt would have to be written to the cache again; " +
					"earlier only when the account that serves it is near its limit or fails, or when an operator clears the cooldown of its own account.",
			},
			{
				Name: "cache_ttl_seconds", Default: `300`,
				Binding: schema.Bind(schema.Duration(1, time.Second, "(seconds)"), func(p *Pool) *time.Duration { return &p.CacheTTL }),
				Doc:     "How long the provider keeps a prompt in its cache after its last use. A session that has been idle for longer loses nothing when it moves.",
			},
			{
				Name: "usage_refresh_seconds", Default: `0`, Restart: true,
				Binding: schema.Bind(interval(), func(p *Pool) *time.Duration { return &p.UsageRefresh }),
				Doc: "How often shunt polls the provider for the quota usage of each account, which it otherwise sees only in responses. 0 turns polling off; less than 60 " +
					"counts as 60. Accounts with a setup token cannot be polled.",
			},
			{
				Name: "state_path", Restart: true,
				Binding: schema.Bind(schema.Path, func(p *Pool) *string { return &p.StatePath }),
				Doc:     "A file in which shunt keeps the quota of the accounts across restarts. Off if not set.",
			},
			{
				Name: "ramp_initial_concurrency", Default: `0`,
				Binding: schema.Bind(schema.Whole[int](0, math.MaxInt32, ""), func(p *Pool) *int { return &p.RampInitialConcurrency }),
				Doc: "How many requests an account may serve at once when it starts to serve, or starts again after a failure or an idle minute; each success doubles the number. " +
					"This keeps many sessions from moving to one account at once. 0 turns it off.",
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
