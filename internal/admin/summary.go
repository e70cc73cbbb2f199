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
			cooling.Detail = inWords(causes, s.CooldownCause)
		}
		return cooling
	case s.Capped:
		return Summary{State: "capped", Tone: "warn"}
	case s.CappedFable:
		return Summary{State: "capped", Detail: "Fable", Tone: "warn"}
	case s.NearQuota:
		return Summary{State: "near limit", Detail: s.nearWindows(), Tone: "warn"}
	case s.FableCooldown > 0:
		until := now + s.FableCooldown
		return Summary{State: "cooling down", Detail: inWords(causes, s.CooldownCause), Until: &until, Tone: "warn"}
	case !s.HasState:
		return Summary{State: "not seen yet", Tone: "idle"}
	}
	return Summary{State: "ok", Tone: "ok"}
}

// nearWindows returns why the account is near its limit: the windows that are.
func (s *AccountState) nearWindows() string {
	var near []string
	for _, w := range s.windows() {
		used := *w.utilization
		if !w.scoped && (rejected(*w.status) || used != nil && *used >= *w.threshold) {
			near = append(near, w.title)
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
