package admin

import (
	"math"
	"net/http"

	"shunt/internal/pool"
)

// Explanation is the answer of GET /admin/api/pool/{provider}/explain (SEL-32): what a request would meet now.
type Explanation struct {
	Provider   string      `json:"provider"`
	Model      string      `json:"model,omitempty"`
	Preferred  string      `json:"preferred,omitempty"`   // whom it would go to if all were well
	LastServed string      `json:"last_served,omitempty"` // who last served the session
	Candidates []Candidate `json:"candidates"`            // in order; those that are out come last
}

// Candidate is an account in its place.
type Candidate struct {
	Name     string            `json:"name"`
	Group    string            `json:"group"`
	Reason   string            `json:"reason,omitempty"` // why it leads, or why it is out
	Behind   string            `json:"behind,omitempty"` // what puts it behind the one before
	Priority int               `json:"priority"`
	Headroom *float64          `json:"headroom_secs"`
	Cooldown int64             `json:"cooldown_secs_remaining"`
	Cause    string            `json:"cooldown_cause,omitempty"`
	Capped   *int64            `json:"capped_until"`
	Rejected bool              `json:"rejected"`
	Denied   bool              `json:"ramp_denied"`
	Windows  []CandidateWindow `json:"windows"`
}

// CandidateWindow is a quota window in a decision.
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

// explain explains what a model's request in a session would meet: ?model=M&session=S, or for a request that the page
// shows, ?request=ID.
func (a *Admin) explain(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	model, session := query.Get("model"), pool.SessionOf(query.Get("session"))
	if id := query.Get("request"); id != "" {
		record, ok := a.recent.find(id)
		if !ok {
			refuse(w, http.StatusNotFound, "that request is not remembered any more")
			return
		}
		model, session = record.Model, pool.Session(record.SessionHash)
	}
	for _, p := range a.Providers() {
		if p.Name == r.PathValue("provider") && p.Pool != nil {
			writeJSON(w, explanationOf(p, model, p.Pool.Explain(pool.Request{Session: session, Scope: p.ScopeOf(model)})))
			return
		}
	}
	refuse(w, http.StatusNotFound, "no such pool: GET /admin/api/pool lists them")
}

func explanationOf(p Provider, model string, e pool.Explanation) Explanation {
	answer := Explanation{Provider: p.Name, Model: model, Preferred: e.Preferred, LastServed: e.Last, Candidates: []Candidate{}}
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
		answer.Candidates = append(answer.Candidates, c)
	}
	return answer
}

func finite(f float64) *float64 {
	if math.IsInf(f, 0) {
		return nil
	}
	return &f
}
