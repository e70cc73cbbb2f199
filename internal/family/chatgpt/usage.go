package chatgpt

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"time"

	"shunt/internal/quota"
)

// parseUsage reads the response body of the usage endpoint (GPT-6). A part that is malformed is absent and takes no other with
// it; the error reports that the whole is not such a body, and does not quote it.
func parseUsage(body []byte) (quota.Usage, error) {
	var response members
	if json.Unmarshal(body, &response) != nil {
		return quota.Usage{}, errors.New("the response is not a JSON object")
	}
	limit, ok := response["rate_limit"]
	if !ok {
		return quota.Usage{}, errors.New("the response contains no quota window")
	}
	limits := limit.members() // none for a plan without windows
	var s quota.Signal
	for _, name := range [...]string{"primary_window", "secondary_window"} {
		limit := limits[name].members()
		add(&s, limit.number("limit_window_seconds")/60, limit.window())
	}
	var u quota.Usage
	for i, w := range s.Windows {
		u.Windows[i] = quota.WindowUsage{Utilization: w.Utilization, Has: w.HasUtilization, Reset: w.Reset, ResetIn: w.ResetIn}
	}
	return u, nil
}

// usageJSON is the response that [appendUsage] writes.
type usageJSON struct {
	Plan  string    `json:"plan_type"`
	Limit limitJSON `json:"rate_limit"`
}

type limitJSON struct {
	Allowed   bool        `json:"allowed"`
	Reached   bool        `json:"limit_reached"`
	Primary   *windowJSON `json:"primary_window"`
	Secondary *windowJSON `json:"secondary_window"`
}

type windowJSON struct {
	Percent int   `json:"used_percent"`
	Length  int64 `json:"limit_window_seconds"`
	ResetAt int64 `json:"reset_at"` // Unix seconds
}

// appendUsage writes what [parseUsage] reads (USE-2). A pool has no plan, and Codex knows "unknown".
func appendUsage(dst []byte, _ http.Header, u quota.Usage) []byte {
	response := usageJSON{Plan: "unknown", Limit: limitJSON{
		Primary: windowOfUsage(&u, FiveHour), Secondary: windowOfUsage(&u, SevenDay),
	}}
	for i := range u.Windows {
		response.Limit.Reached = response.Limit.Reached || u.Windows[i].Has && u.Windows[i].Utilization >= 1
	}
	response.Limit.Allowed = !response.Limit.Reached
	body, err := json.Marshal(response)
	if err != nil {
		panic(err) // numbers and constants only
	}
	return append(dst, body...)
}

// mostShown bounds the utilization that is shown, a fraction.
const mostShown = 1e6

func windowOfUsage(u *quota.Usage, i int) *windowJSON {
	w := &u.Windows[i]
	if !w.Has {
		return nil
	}
	shown := &windowJSON{
		Percent: int(math.Floor(min(w.Utilization, mostShown) * 100)), // 100 only if nothing is left
		Length:  int64(windows.Windows()[i].Length / time.Second),
	}
	if !w.Reset.IsZero() {
		shown.ResetAt = w.Reset.Unix()
	}
	return shown
}
