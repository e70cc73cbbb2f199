package admin

import (
	"math"
	"net/http"

	"shunt/internal/pool"
)

// Explanation is the response to GET /admin/api/pool/{provider}/explain (SEL-32): the order of accounts for a request sent now.
type Explanation struct {
	Provider   string      `json:"provider"`
	Model      string      `json:"model,omitempty"`
	Preferred  string      `json:"preferred,omitempty"`   // the account that would serve the request if it were available
	LastServed string      `json:"last_served,omitempty"` // the account that last served the session
	Candidates []Candidate `json:"candidates"`            // in order; accounts that are not used come last
}

// Candidate is an account in that order.
type Candidate struct {
	Name     string            `json:"name"`
	Group    string            `json:"group"`
	Reason   string            `json:"reason,omitempty"` // why it comes first, or why it is not used
	Behind   string            `json:"behind,omitempty"` // why it comes after the one before
	Priority int               `json:"priority"`
	Headroom *float64          `json:"headroom_secs"`
	Cooldown int64             `json:"cooldown_secs_remaining"`
	Cause    string            `json:"cooldown_cause,omitempty"`
	Capped   *int64            `json:"capped_until"`
	Rejected bool              `json:"rejected"`
	Denied   bool              `json:"ramp_denied"`
	Windows  []CandidateWindow `json:"windows"`
}

// CandidateWindow is a quota window of a candidate.
type CandidateWindow struct {
	Window      string   `json:"window"`
	Governs     bool     `json:"governs"`
	Utilization *float64 `json:"utilization"`
	Threshold   float64  `json:"threshold"`
	Cap         *float64 `json:"max_utilization"`
	Headroom    *float64 `json:"headroom_secs"`
	Reset       *int64   `json:"reset"`
	Status      *string  `json:"status"`
}

// explain explains the order of accounts for a request of a session: ?model=M&session=S, or ?request=ID for a recent request.
func (a *Admin) explain(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	model, session := query.Get("model"), pool.SessionOf(query.Get("session"))
	if id := query.Get("request"); id != "" {
		record, ok := a.recent.find(id)
		if !ok {
			refuse(w, http.StatusNotFound, "no recent request has this id")
			return
		}
		model, session = record.Model, pool.Session(record.SessionHash)
	}
	for _, p := range a.Providers() {
		if p.Name == r.PathValue("provider") && p.Pool != nil {
			writeJSON(w, explanationOf(p, model, p.Pool.Explain(pool.Criteria{Session: session, Scope: p.ScopeOf(model)})))
			return
		}
	}
	refuse(w, http.StatusNotFound, "no such pool: GET /admin/api/pool lists the pools")
}

func explanationOf(p Provider, model string, e pool.Explanation) Explanation {
	explanation := Explanation{Provider: p.Name, Model: model, Preferred: e.Preferred, LastServed: e.Last, Candidates: []Candidate{}}
	for i := range e.Places {
		place := &e.Places[i]
		c := Candidate{
			Name: place.Name, Group: place.Group.String(), Reason: string(place.Why), Behind: string(place.By), Priority: place.Priority,
			Headroom: finite(place.Headroom), Cooldown: seconds(place.Cooldown), Cause: place.Cause.String(),
			Capped: unix(place.CappedUntil, !place.CappedUntil.IsZero()), Rejected: place.Rejected, Denied: place.Denied,
		}
		for w := range place.Windows {
			x := &place.Windows[w]
			window := CandidateWindow{
				Window: x.Window.Name, Governs: x.Governs, Threshold: x.Soft, Headroom: finite(x.Headroom),
				Reset: unix(x.Reset, !x.Reset.IsZero()), Status: text(x.Status),
			}
			if x.Known {
				window.Utilization = &x.Utilization
			}
			if x.HasCap {
				window.Cap = &x.Cap
			}
			c.Windows = append(c.Windows, window)
		}
		explanation.Candidates = append(explanation.Candidates, c)
	}
	return explanation
}

func finite(f float64) *float64 {
	if math.IsInf(f, 0) {
		return nil
	}
	return &f
}
