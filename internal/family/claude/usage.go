package claude

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"shunt/internal/quota"
)

// The rows of limits[], by their kind.
const (
	sessionLimit = "session"
	weeklyLimit  = "weekly_all"
	scopedLimit  = "weekly_scoped" // for the model that its scope names

	fableName = "Fable"
)

// parseUsage reads the response body of the usage endpoint (QUO-22). It may contain the five-hour and the weekly window as
// members of their own, as rows of limits[], or both; of several readings of one window, the highest counts, with its reset
// (QUO-25). A part that is malformed is absent and takes no other with it; the error reports that the whole is not such a
// body, and does not quote it.
func parseUsage(body []byte) (quota.Usage, error) {
	var response members
	if json.Unmarshal(body, &response) != nil {
		return quota.Usage{}, errors.New("the response is not a JSON object")
	}
	_, flatFiveHour := response["five_hour"]
	_, flatSevenDay := response["seven_day"]
	_, listed := response["limits"]
	if !flatFiveHour && !flatSevenDay && !listed {
		return quota.Usage{}, errors.New("the response contains no quota window")
	}
	var u quota.Usage
	for w, name := range [...]string{FiveHour: "five_hour", SevenDay: "seven_day"} {
		flat := response.members(name)
		add(&u.Windows[w], flat["utilization"], flat["resets_at"])
	}
	var rows []json.RawMessage
	_ = json.Unmarshal(response["limits"], &rows)
	for _, raw := range rows {
		row := membersOf(raw)
		if w, ok := windowOf(row); ok {
			add(&u.Windows[w], row["percent"], row["resets_at"])
		}
	}
	return u, nil
}

// windowOf returns the window of the account that a row of limits[] represents. A row with a scope is a limit on a part of
// what the account can do, such as one model; the only such part with a window is Fable (QUO-25).
func windowOf(row members) (w int, ok bool) {
	scope, scoped := row["scope"]
	scoped = scoped && string(scope) != "null"
	switch kind := text(row["kind"]); {
	case kind == sessionLimit && !scoped:
		return FiveHour, true
	case kind == weeklyLimit && !scoped:
		return SevenDay, true
	case kind == scopedLimit && text(row.members("scope").members("model")["display_name"]) == fableName:
		return Fable, true
	}
	return 0, false
}

// add records one reading of a window. One without a percentage hides no other.
func add(w *quota.WindowUsage, percent, resetsAt json.RawMessage) {
	value, err := strconv.ParseFloat(string(percent), 64) // which accepts no JSON but a number
	fraction := max(0, value) / 100
	if err != nil || w.Has && fraction <= w.Utilization {
		return
	}
	reset, _ := time.Parse(time.RFC3339, text(resetsAt)) // the zero time, unless it is one
	*w = quota.WindowUsage{Utilization: fraction, Has: true, Reset: reset}
}

// members are those of a JSON object, by their exact names; of two with one name, the last. It is nil for anything else.
type members map[string]json.RawMessage

func membersOf(raw json.RawMessage) (m members) {
	_ = json.Unmarshal(raw, &m)
	return m
}

func (m members) members(name string) members { return membersOf(m[name]) }

// text returns a JSON string's value, empty for anything else.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// usageJSON is the response that [appendUsage] writes.
type usageJSON struct {
	FiveHour *windowJSON `json:"five_hour,omitempty"`
	SevenDay *windowJSON `json:"seven_day,omitempty"`
	Limits   []limitJSON `json:"limits,omitempty"`
}

type windowJSON struct {
	Utilization float64 `json:"utilization"` // percent
	ResetsAt    string  `json:"resets_at,omitempty"`
}

type limitJSON struct {
	Kind     string    `json:"kind"`
	Scope    scopeJSON `json:"scope"`
	Percent  float64   `json:"percent"`
	ResetsAt string    `json:"resets_at,omitempty"`
}

type scopeJSON struct {
	Model struct {
		DisplayName string `json:"display_name"`
	} `json:"model"`
}

// appendUsage writes what [parseUsage] reads (USE-2).
func appendUsage(dst []byte, _ http.Header, u quota.Usage) []byte {
	response := usageJSON{FiveHour: windowOfUsage(&u.Windows[FiveHour]), SevenDay: windowOfUsage(&u.Windows[SevenDay])}
	if w := windowOfUsage(&u.Windows[Fable]); w != nil {
		limit := limitJSON{Kind: scopedLimit, Percent: w.Utilization, ResetsAt: w.ResetsAt}
		limit.Scope.Model.DisplayName = fableName
		response.Limits = []limitJSON{limit}
	}
	body, err := json.Marshal(response)
	if err != nil {
		panic(err) // utilizations are finite
	}
	return append(dst, body...)
}

// mostShown bounds the utilization that is shown, a fraction, so that the percentage is a number.
const mostShown = 1e6

func windowOfUsage(w *quota.WindowUsage) *windowJSON {
	if !w.Has {
		return nil
	}
	shown := &windowJSON{Utilization: math.Round(min(w.Utilization, mostShown)*1e4) / 1e2}
	if !w.Reset.IsZero() {
		shown.ResetsAt = w.Reset.UTC().Format(time.RFC3339)
	}
	return shown
}
