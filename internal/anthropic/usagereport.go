package anthropic

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// UsageReport is what the usage endpoint says of an account's windows (QUO-22). The zero value says nothing.
type UsageReport struct{ Windows [Windows]WindowUsage }

// WindowUsage is one window's part. A window that the report does not tell the utilization of has no part in it.
type WindowUsage struct {
	Utilization    float64 // fraction, finite, at least 0; may exceed 1
	HasUtilization bool
	Reset          time.Time // zero = absent
}

// The rows of limits[], by their kind.
const (
	sessionLimit = "session"
	weeklyLimit  = "weekly_all"
	scopedLimit  = "weekly_scoped" // for the model that its scope names

	fableName = "Fable"
)

// ParseUsage reads the reply of the usage endpoint (QUO-22). The five-hour and the weekly window stand in it flat, as rows
// of limits[], or both; what stands flat goes first, then what comes first, and a row without a percentage says nothing
// (QUO-25). A part that is malformed is absent and takes no other with it; the error says that the whole is no such reply.
func ParseUsage(body []byte) (UsageReport, error) {
	var reply map[string]json.RawMessage
	if json.Unmarshal(body, &reply) != nil { // whose error would quote the reply
		return UsageReport{}, errors.New("the reply is no JSON object")
	}
	fiveHour, flatFiveHour := reply["five_hour"]
	sevenDay, flatSevenDay := reply["seven_day"]
	limits, listed := reply["limits"]
	if !flatFiveHour && !flatSevenDay && !listed {
		return UsageReport{}, errors.New("the reply tells of no window")
	}
	var r UsageReport
	r.flat(FiveHour, fiveHour)
	r.flat(SevenDay, sevenDay)
	r.rows(limits)
	return r, nil
}

func (r *UsageReport) flat(w Window, raw json.RawMessage) {
	var part struct {
		Utilization percentage `json:"utilization"`
		ResetsAt    instant    `json:"resets_at"`
	}
	_ = json.Unmarshal(raw, &part) // what it cannot read stays absent
	r.add(w, part.Utilization, part.ResetsAt)
}

func (r *UsageReport) rows(raw json.RawMessage) {
	var rows []json.RawMessage
	_ = json.Unmarshal(raw, &rows)
	for _, raw := range rows {
		var row struct {
			Kind     string     `json:"kind"`
			Percent  percentage `json:"percent"`
			ResetsAt instant    `json:"resets_at"`
			Scope    struct {
				Model struct {
					DisplayName string `json:"display_name"`
				} `json:"model"`
			} `json:"scope"`
		}
		_ = json.Unmarshal(raw, &row)
		switch {
		case row.Kind == sessionLimit:
			r.add(FiveHour, row.Percent, row.ResetsAt)
		case row.Kind == weeklyLimit:
			r.add(SevenDay, row.Percent, row.ResetsAt)
		case row.Kind == scopedLimit && row.Scope.Model.DisplayName == fableName:
			r.add(Fable, row.Percent, row.ResetsAt)
		}
	}
}

func (r *UsageReport) add(w Window, p percentage, reset instant) {
	if p.known && !r.Windows[w].HasUtilization {
		r.Windows[w] = WindowUsage{Utilization: max(0, p.value) / 100, HasUtilization: true, Reset: reset.Time}
	}
}

// percentage is a JSON number; anything else leaves it unknown, where a plain float64 would become 0 (QUO-24).
type percentage struct {
	value float64
	known bool
}

func (p *percentage) UnmarshalJSON(raw []byte) error {
	value, err := strconv.ParseFloat(string(raw), 64)
	*p = percentage{value, err == nil}
	return nil
}

// instant is a time as RFC 3339 writes it; anything else is the zero time.
type instant struct{ time.Time }

func (i *instant) UnmarshalJSON(raw []byte) error {
	var text string
	_ = json.Unmarshal(raw, &text)
	i.Time, _ = time.Parse(time.RFC3339, text)
	return nil
}
