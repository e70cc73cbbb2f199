package admin

import "strings"

// Summary is the state of an account in words (ADM-6).
type Summary struct {
	State  string // "ok", "near limit", "cooling down", "capped", "paused", "disabled", "login needed" or "not seen yet"
	Detail string // the windows or models that State is about, or the cause of a cooldown; may be empty
	Until  *int64 // when a cooldown ends, in Unix seconds; nil in other states
	Tone   string // how good the state is: ok, warn, bad or idle
}

// Summary returns the most severe state of the account. The current time is in Unix seconds.
func (s *AccountState) Summary(now int64) Summary {
	switch {
	case s.Disabled:
		return Summary{State: "disabled", Tone: "idle"}
	case s.Paused:
		return Summary{State: "paused", Tone: "idle"}
	case s.NeedsLogin:
		return Summary{State: "login needed", Tone: "bad"}
	case s.Cooldown > 0:
		until := now + s.Cooldown
		cooling := Summary{State: "cooling down", Until: &until, Tone: "bad"}
		if s.FableCooldown == s.Cooldown { // else the cause is that of the longer cooldown
			cooling.Detail = causeInWords(s.CooldownCause)
		}
		return cooling
	case s.Capped:
		return Summary{State: "capped", Tone: "warn"}
	case s.cappedScopes() != "":
		return Summary{State: "capped", Detail: s.cappedScopes(), Tone: "warn"}
	case s.NearQuota:
		return Summary{State: "near limit", Detail: s.nearWindows(), Tone: "warn"}
	case s.coolingScope().Cooldown > 0:
		scope := s.coolingScope()
		until := now + scope.Cooldown
		return Summary{State: "cooling down", Detail: causeInWords(scope.Cause), Until: &until, Tone: "warn"}
	case !s.HasState:
		return Summary{State: "not seen yet", Tone: "idle"}
	}
	return Summary{State: "ok", Tone: "ok"}
}

// cappedScopes returns the scopes whose requests the caps of the account exclude.
func (s *AccountState) cappedScopes() string {
	var capped []string
	for _, scope := range s.allScopes() {
		if scope.Capped {
			capped = append(capped, label(string(scope.Scope)))
		}
	}
	return strings.Join(capped, ", ")
}

// coolingScope returns the scope for which the account cools down longest; the zero value if there is none.
func (s *AccountState) coolingScope() (longest ScopeState) {
	for _, scope := range s.allScopes() {
		if scope.Cooldown > longest.Cooldown {
			longest = scope
		}
	}
	return longest
}

// nearWindows returns why the account is near its limit: the windows that are.
func (s *AccountState) nearWindows() string {
	var near []string
	for _, w := range s.AllWindows() {
		full := w.Utilization != nil && *w.Utilization >= w.Threshold
		if w.Scope == "" && (full || rejected(w.Status)) {
			near = append(near, label(w.Window))
		}
	}
	switch {
	case near != nil:
		return strings.Join(near, ", ")
	case rejected(s.Status):
		return "rejected by the provider"
	}
	return "at the current pace"
}

// rejected reports whether a status is the only one that has a meaning for shunt (QUO-4).
func rejected(status *string) bool { return status != nil && *status == "rejected" }
