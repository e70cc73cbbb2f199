package usage

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/pool"
)

// Provider is a pool as those who ask about usage see it.
type Provider struct {
	Name     string
	Accounts []pool.Status
}

// summary is what GET /usage tells of accounts, without telling how many or which (USE-1).
type summary struct {
	Status  string                 `json:"status"`
	Windows map[string]windowState `json:"windows"`
}

type windowState struct {
	Remaining *float64 `json:"remaining"` // a fraction; null: no account reports the window
	ResetsAt  *int64   `json:"resets_at"` // Unix seconds; null: unknown
}

// Summary answers with what is left of the pools, all together and each (USE-1).
func Summary(pools func() []Provider) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var all []pool.Status
		each := map[string]summary{}
		for _, p := range pools() {
			all = append(all, p.Accounts...)
			each[p.Name] = summarize(p.Accounts)
		}
		writeJSON(w, struct {
			Pool      summary            `json:"pool"`
			Providers map[string]summary `json:"providers"`
		}{summarize(all), each})
	})
}

func summarize(accounts []pool.Status) summary {
	enabled := slices.DeleteFunc(slices.Clone(accounts), func(s pool.Status) bool { return s.Disabled })
	s := summary{statusOf(enabled), map[string]windowState{}}
	for w, window := range claude.Family.Windows.Windows() {
		s.Windows[window.Name] = stateOf(w, enabled)
	}
	return s
}

func statusOf(enabled []pool.Status) string {
	is := func(what func(pool.Status) bool) bool { return slices.ContainsFunc(enabled, what) }
	available := is(func(s pool.Status) bool { return s.Available })
	switch {
	case !available && is(func(s pool.Status) bool { return !s.Paused && !s.CappedUntil.IsZero() }):
		return "capped"
	case !available:
		return "exhausted"
	case is(func(s pool.Status) bool { return s.NearQuota }):
		return "degraded"
	}
	return "ok"
}

// stateOf takes an account once, however many pools it is in.
func stateOf(w int, enabled []pool.Status) windowState {
	var left float64
	var reset time.Time
	seen := map[identity.Key]bool{}
	for _, s := range enabled {
		used, reported := s.Quota.Utilization(w)
		if !reported || seen[s.Key] {
			continue
		}
		seen[s.Key] = true
		left += min(max(1-used, 0), 1)
		if at, known := s.Quota.Reset(w); known && (reset.IsZero() || at.Before(reset)) {
			reset = at
		}
	}
	var state windowState
	if len(seen) > 0 {
		mean := round(left/float64(len(seen)), 4)
		state.Remaining = &mean
	}
	if !reset.IsZero() {
		unix := reset.Unix()
		state.ResetsAt = &unix
	}
	return state
}

// bars is what GET /api/oauth/usage tells, in the provider's own form.
type bars struct {
	FiveHour *bar  `json:"five_hour,omitempty"`
	SevenDay *bar  `json:"seven_day,omitempty"`
	Limits   []any `json:"limits,omitempty"`
}

type bar struct {
	Utilization float64 `json:"utilization"` // percent
	ResetsAt    string  `json:"resets_at,omitempty"`
}

// Bars answers Claude Code's question for the usage of its account with that of the accounts that serve it (USE-2).
func Bars(pools func() []Provider) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var enabled []pool.Status
		for _, p := range pools() {
			for _, s := range p.Accounts {
				if !s.Disabled {
					enabled = append(enabled, s)
				}
			}
		}
		plain := func(s pool.Status) bool { return s.Available }
		fable := func(s pool.Status) bool {
			scoped := s.In(claude.FableScope)
			return scoped.Group != pool.Out && scoped.Cooldown == 0
		}
		answer := bars{FiveHour: barOf(claude.FiveHour, enabled, plain), SevenDay: barOf(claude.SevenDay, enabled, plain)}
		if b := barOf(claude.Fable, enabled, fable); b != nil {
			answer.Limits = []any{weekly(b)}
		}
		writeJSON(w, answer)
	})
}

// barOf is the usage of the account that stands for a window; nil: none reports it. It is the fullest of those that are used first, for
// that is the one that will be full first.
func barOf(w int, enabled []pool.Status, available func(pool.Status) bool) *bar {
	reporting := slices.DeleteFunc(slices.Clone(enabled), func(s pool.Status) bool {
		_, reported := s.Quota.Utilization(w)
		return !reported
	})
	if slices.ContainsFunc(reporting, available) {
		reporting = slices.DeleteFunc(reporting, func(s pool.Status) bool { return !available(s) })
	}
	var stands *pool.Status
	var most float64
	for i := range reporting {
		s := &reporting[i]
		used, _ := s.Quota.Utilization(w)
		if stands == nil || s.Priority < stands.Priority || s.Priority == stands.Priority && used > most {
			stands, most = s, used
		}
	}
	if stands == nil {
		return nil
	}
	b := &bar{Utilization: round(min(most, absurd)*100, 2)}
	if reset, known := stands.Quota.Reset(w); known {
		b.ResetsAt = reset.UTC().Format(time.RFC3339)
	}
	return b
}

// absurd is a fraction beyond which the exact one does not matter; what follows from it is still a number.
const absurd = 1e6

// weekly is the bar of the Fable week, which the provider lists among limits of other kinds.
func weekly(b *bar) any {
	type model struct {
		DisplayName string `json:"display_name"`
	}
	type scope struct {
		Model model `json:"model"`
	}
	return struct {
		Kind     string  `json:"kind"`
		Scope    scope   `json:"scope"`
		Percent  float64 `json:"percent"`
		ResetsAt string  `json:"resets_at,omitempty"`
	}{"weekly_scoped", scope{model{"Fable"}}, b.Utilization, b.ResetsAt}
}

func round(v float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(v*scale) / scale
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // utilizations are finite
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1)) // for HEAD too (WIRE-14)
	w.Write(append(body, '\n'))
}
