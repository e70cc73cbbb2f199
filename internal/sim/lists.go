package sim

import (
	"math"
	"net/http"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
)

// countTokens serves the endpoint that counts a prompt's tokens, which uses no quota.
func (x *exchange) countTokens() {
	if x.check(true) {
		x.json(http.StatusOK, map[string]int64{"input_tokens": x.prompt.size()})
	}
}

// models serves the list of models.
func (x *exchange) models() {
	type model struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
	}
	var list struct {
		Data    []model `json:"data"`
		HasMore bool    `json:"has_more"`
		FirstID string  `json:"first_id"`
		LastID  string  `json:"last_id"`
	}
	for _, id := range x.p.config.Models {
		name := strings.ReplaceAll(strings.TrimPrefix(id, "claude-"), "-", " ")
		list.Data = append(list.Data, model{"model", id, "Claude " + name, "2025-09-29T00:00:00Z"})
		list.LastID = id
	}
	if len(list.Data) > 0 {
		list.FirstID = list.Data[0].ID
	}
	x.json(http.StatusOK, list)
}

// usage serves the usage API (QUO-22): five_hour and seven_day as members, the Fable window as a scoped limit.
func (x *exchange) usage() {
	if !strings.Contains(x.scope, "user:profile") {
		x.fail(failure{http.StatusForbidden, messages.TypePermission, "OAuth token does not meet scope requirement user:profile", ""})
		return
	}
	limits := x.p.Limits(x.account.Name)
	type row struct {
		Utilization float64 `json:"utilization"`
		ResetsAt    *string `json:"resets_at"`
	}
	resets := func(w messages.WindowLimit) *string {
		if w.Reset == 0 {
			return nil
		}
		at := time.Unix(w.Reset, 0).UTC().Format(time.RFC3339)
		return &at
	}
	percent := func(w messages.WindowLimit) float64 { return math.Round(w.Utilization * 100) }
	flat := func(w messages.WindowLimit) *row {
		if !w.HasUtilization {
			return nil
		}
		return &row{percent(w), resets(w)}
	}
	rows := []object{}
	add := func(kind, group string, w messages.WindowLimit, scope any) {
		if w.HasUtilization {
			rows = append(rows, object{
				"kind": kind, "group": group, "percent": percent(w), "resets_at": resets(w), "scope": scope,
				"severity": "normal", "is_active": w.Status == rejected,
			})
		}
	}
	fiveHour, sevenDay, fable := limits.Windows[messages.FiveHour], limits.Windows[messages.SevenDay], limits.Windows[messages.Fable]
	add("session", "session", fiveHour, nil)
	add("weekly_all", "weekly", sevenDay, nil)
	add("weekly_scoped", "weekly", fable, object{"model": object{"id": nil, "display_name": "Fable"}, "surface": nil})
	x.json(http.StatusOK, object{
		"five_hour":        flat(fiveHour),
		"seven_day":        flat(sevenDay),
		"seven_day_opus":   nil,
		"seven_day_sonnet": nil,
		"extra_usage":      object{"is_enabled": false, "monthly_limit": nil, "used_credits": nil, "utilization": nil},
		"limits":           rows,
	})
}
