package admin

import (
	"slices"

	"shunt/internal/pool"
	"shunt/internal/quota"
)

// WindowState describes a quota window of an account.
type WindowState struct {
	Window      string      `json:"window"`
	Scope       quota.Scope `json:"scope,omitempty"` // the requests that use it; empty: all
	Utilization *float64    `json:"utilization"`
	Reset       *int64      `json:"reset"`
	Status      *string     `json:"status"`
	Cap         *float64    `json:"max_utilization"`
	Threshold   float64     `json:"threshold"`
}

// ScopeState describes an account for the requests of a scope that has windows of its own.
type ScopeState struct {
	Scope    quota.Scope `json:"scope"`
	Capped   bool        `json:"capped"`
	Cooldown int64       `json:"cooldown_secs_remaining"` // never less than that of the account
	Cause    string      `json:"cooldown_cause,omitempty"`
}

// fableScope is the scope that the API has fields of its own for (ADM-3).
const fableScope quota.Scope = "fable"

// windowsOf returns the windows of an account in the order of its family's table.
func windowsOf(s *pool.Status) []WindowState {
	var windows []WindowState
	for i, w := range s.Quota.Table().Windows() {
		window := WindowState{
			Window: w.Name, Scope: w.Scope, Reset: unix(s.Quota.Reset(i)), Status: text(s.Quota.Status(i)), Threshold: s.Soft[i],
		}
		if used, ok := s.Quota.Utilization(i); ok {
			window.Utilization = &used
		}
		if s.Caps.Set.Has(i) {
			limit := s.Caps.At[i]
			window.Cap = &limit
		}
		windows = append(windows, window)
	}
	return windows
}

// scopesOf returns the state of an account for each scope of its family's table.
func scopesOf(s *pool.Status) []ScopeState {
	var scopes []ScopeState
	for _, scope := range s.Scopes {
		state := ScopeState{Scope: scope.Scope, Capped: !scope.CappedUntil.IsZero(), Cooldown: seconds(scope.Cooldown)}
		if scope.Cooldown > 0 {
			state.Cause = scope.Cause.String()
		}
		scopes = append(scopes, state)
	}
	return scopes
}

// setWindows sets the fields of the windows that have fields of their own, and Windows unless those fields say it all.
func (s *AccountState) setWindows(windows []WindowState) {
	for _, w := range windows {
		switch w.Window {
		case "5h":
			s.Utilization5h, s.Reset5h, s.Status5h, s.Cap5h, s.Threshold5h = w.Utilization, w.Reset, w.Status, w.Cap, &w.Threshold
		case "7d":
			s.Utilization7d, s.Reset7d, s.Status7d, s.Cap7d, s.Threshold7d = w.Utilization, w.Reset, w.Status, w.Cap, &w.Threshold
		case "fable":
			s.UtilizationFable, s.ResetFable, s.StatusFable, s.CapFable, s.ThresholdFable = w.Utilization, w.Reset, w.Status, w.Cap, &w.Threshold
		}
	}
	if !slices.Equal(s.flatWindows(), windows) {
		s.Windows = windows
	}
}

// AllWindows returns the windows of the account in order.
func (s *AccountState) AllWindows() []WindowState {
	if s.Windows != nil {
		return s.Windows
	}
	return s.flatWindows()
}

// flatWindows returns the windows that have fields of their own and that the account has: those with a threshold.
func (s *AccountState) flatWindows() []WindowState {
	var windows []WindowState
	add := func(w WindowState, threshold *float64) {
		if threshold != nil {
			w.Threshold = *threshold
			windows = append(windows, w)
		}
	}
	add(WindowState{Window: "5h", Utilization: s.Utilization5h, Reset: s.Reset5h, Status: s.Status5h, Cap: s.Cap5h}, s.Threshold5h)
	add(WindowState{Window: "7d", Utilization: s.Utilization7d, Reset: s.Reset7d, Status: s.Status7d, Cap: s.Cap7d}, s.Threshold7d)
	add(WindowState{
		Window: "fable", Scope: fableScope, Utilization: s.UtilizationFable, Reset: s.ResetFable, Status: s.StatusFable, Cap: s.CapFable,
	}, s.ThresholdFable)
	return windows
}

// setScopes sets Scopes unless the fields of the scope that has its own say it all.
func (s *AccountState) setScopes(scopes []ScopeState) {
	if !slices.Equal(s.flatScopes(), scopes) {
		s.Scopes = scopes
	}
}

// allScopes returns the state of the account for each scope that has windows of its own.
func (s *AccountState) allScopes() []ScopeState {
	if s.Scopes != nil {
		return s.Scopes
	}
	return s.flatScopes()
}

// flatScopes returns the scope that has fields of its own, if the account has a window of that scope.
func (s *AccountState) flatScopes() []ScopeState {
	if s.ThresholdFable == nil {
		return nil
	}
	return []ScopeState{{Scope: fableScope, Capped: s.CappedFable, Cooldown: s.FableCooldown, Cause: s.CooldownCause}}
}
