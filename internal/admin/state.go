package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"

	"shunt/internal/config"
	"shunt/internal/identity"
	"shunt/internal/pool"
)

// Pools is the response to GET /admin/api/pool (ADM-3).
type Pools struct {
	Providers []ProviderState `json:"providers"`
}

// ProviderState describes one provider. A provider that is not a pool has no accounts.
type ProviderState struct {
	Provider string         `json:"provider"`
	Auth     config.Auth    `json:"auth"`
	Accounts []AccountState `json:"accounts"`

	family string // of the accounts; empty if it is not a pool
}

// AccountState describes one account of a pool. Utilizations and thresholds are fractions, times are Unix seconds, null is unknown.
type AccountState struct {
	Name       string `json:"name"`
	AccountRef string `json:"account_ref"` // names the account in other requests; opaque
	// Aliases are the other names of the same account. Requests accept them and Name in place of AccountRef (ID-2b).
	Aliases  []string `json:"aliases,omitempty"`
	HasState bool     `json:"has_state"` // its quota was observed at least once

	Available   bool `json:"available"`
	NearQuota   bool `json:"near_quota"`
	Capped      bool `json:"capped"`
	CappedFable bool `json:"capped_fable"`
	Paused      bool `json:"paused"`
	Disabled    bool `json:"disabled"`
	NeedsLogin  bool `json:"needs_login"`
	Priority    int  `json:"priority"`

	Cooldown      int64    `json:"cooldown_secs_remaining"`
	FableCooldown int64    `json:"cooldown_fable_secs_remaining"`
	CooldownCause string   `json:"cooldown_cause,omitempty"`
	Headroom      *float64 `json:"headroom_secs"` // only with [server.pool]

	Utilization5h    *float64 `json:"utilization_5h"`
	Utilization7d    *float64 `json:"utilization_7d"`
	UtilizationFable *float64 `json:"utilization_7d_oi"`
	Reset5h          *int64   `json:"reset_5h"`
	Reset7d          *int64   `json:"reset_7d"`
	ResetFable       *int64   `json:"reset_7d_oi"`
	Status           *string  `json:"status"`
	Status5h         *string  `json:"status_5h"`
	Status7d         *string  `json:"status_7d"`
	StatusFable      *string  `json:"status_7d_oi"`
	Cap5h            *float64 `json:"max_utilization_5h"`
	Cap7d            *float64 `json:"max_utilization_7d"`
	CapFable         *float64 `json:"max_utilization_fable"`
	Threshold5h      *float64 `json:"threshold_5h"` // null: the account has no such window
	Threshold7d      *float64 `json:"threshold_7d"`
	ThresholdFable   *float64 `json:"threshold_fable"`

	// Windows are all windows of the account in order, and Scopes all scopes that have windows of their own. They are absent if
	// the fields above say the same.
	Windows []WindowState `json:"windows,omitempty"`
	Scopes  []ScopeState  `json:"scopes,omitempty"`

	Requests  uint64 `json:"requests"`
	Rotations uint64 `json:"rotations"`
	LastUsed  *int64 `json:"last_used"`
}

// refOf returns an opaque name for an identity.
func refOf(key identity.Key) string {
	sum := sha256.Sum256([]byte("account\x00" + key.String()))
	return hex.EncodeToString(sum[:8])
}

func (a *Admin) pools() Pools {
	pools := Pools{Providers: []ProviderState{}}
	for _, p := range a.Providers() {
		state := ProviderState{Provider: p.Name, Auth: p.Auth, Accounts: []AccountState{}}
		if p.Pool != nil {
			state.family = p.Family
			needsLogin := map[string]bool{}
			for _, account := range p.Accounts {
				_, needsLogin[account.Name()] = account.NeedsLogin()
			}
			for _, s := range p.Pool.Snapshot() {
				state.Accounts = append(state.Accounts, stateOf(&s, p.Planned, needsLogin[s.Name]))
			}
		}
		pools.Providers = append(pools.Providers, state)
	}
	return pools
}

func stateOf(s *pool.Status, planned, needsLogin bool) AccountState {
	fable := s.In(fableScope)
	state := AccountState{
		Name: s.Name, AccountRef: refOf(s.Key), HasState: !s.Quota.Unseen(),
		Aliases:   slices.DeleteFunc(s.Aliases, func(name string) bool { return name == s.Name }),
		Available: s.Available, NearQuota: s.NearQuota, Capped: !s.CappedUntil.IsZero(), CappedFable: !fable.CappedUntil.IsZero(),
		Paused: s.Paused, Disabled: s.Disabled, NeedsLogin: s.NeedsLogin || needsLogin, Priority: s.Priority,
		Cooldown: seconds(s.Cooldown), FableCooldown: seconds(fable.Cooldown),
		Status:   text(s.Quota.Aggregate()),
		Requests: s.Requests, Rotations: s.Rotations, LastUsed: unix(s.LastUsed, !s.LastUsed.IsZero()),
	}
	if fable.Cooldown > 0 {
		state.CooldownCause = fable.Cause.String()
	}
	if planned && !math.IsInf(s.Headroom, 0) {
		state.Headroom = &s.Headroom
	}
	state.setWindows(windowsOf(s))
	state.setScopes(scopesOf(s))
	return state
}

// seconds rounds up, so that a remaining time is never shown as 0.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func unix(t time.Time, known bool) *int64 {
	if !known {
		return nil
	}
	s := t.Unix()
	return &s
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (a *Admin) showPool(w http.ResponseWriter, _ *http.Request) { writeJSON(w, a.pools()) }

// find returns the account that the path of a request names, by its account_ref or by any of its names (ID-2b), and its
// provider. It responds with 404 if there is none.
func (a *Admin) find(w http.ResponseWriter, r *http.Request) (_ Provider, _ pool.Status, ok bool) {
	for _, p := range a.Providers() {
		if p.Name != r.PathValue("provider") || p.Pool == nil {
			continue
		}
		wanted := r.PathValue("ref")
		accounts := p.Pool.Snapshot()
		at := slices.IndexFunc(accounts, func(s pool.Status) bool { return refOf(s.Key) == wanted })
		if key, named := p.Pool.Identity(wanted); at < 0 && named {
			at = slices.IndexFunc(accounts, func(s pool.Status) bool { return s.Key == key })
		}
		if at >= 0 {
			return p, accounts[at], true
		}
	}
	refuse(w, http.StatusNotFound, "no such account: GET /admin/api/pool lists the accounts")
	return Provider{}, pool.Status{}, false
}

// pause pauses or resumes an account (PAU-1, ADM-4).
func (a *Admin) pause(w http.ResponseWriter, r *http.Request) {
	var change struct {
		Paused *bool `json:"paused"`
	}
	if !readJSON(w, r, &change) {
		return
	}
	if change.Paused == nil {
		refuse(w, http.StatusBadRequest, `send {"paused": true} or {"paused": false}`)
		return
	}
	if p, s, ok := a.find(w, r); ok {
		p.Pool.Pause(s.Key, *change.Paused)
		a.Log.Info("account paused or resumed by an administrator", "provider", p.Name, "account", s.Name, "paused", *change.Paused)
		a.writeAccount(w, p, s.Key)
	}
}

// clearCooldown ends an account's cooldowns and clears its rejected statuses (FO-13).
func (a *Admin) clearCooldown(w http.ResponseWriter, r *http.Request) {
	if p, s, ok := a.find(w, r); ok {
		p.Pool.ClearCooldown(s.Key)
		a.Log.Info("cooldown cleared by an administrator", "provider", p.Name, "account", s.Name)
		a.writeAccount(w, p, s.Key)
	}
}

// writeAccount responds with the state of an account after a change.
func (a *Admin) writeAccount(w http.ResponseWriter, p Provider, key identity.Key) {
	for _, provider := range a.pools().Providers {
		for _, s := range provider.Accounts {
			if provider.Provider == p.Name && s.AccountRef == refOf(key) {
				writeJSON(w, s)
				return
			}
		}
	}
	refuse(w, http.StatusNotFound, "the account was just removed from the pool")
}

const bodyLimit = 64 << 10 // bytes

// readJSON decodes the body of a request strictly. If that fails, it responds with 400.
func readJSON(w http.ResponseWriter, r *http.Request, to any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		refuse(w, http.StatusBadRequest, "the body is not the JSON object that this endpoint expects")
		return false
	}
	return true
}
