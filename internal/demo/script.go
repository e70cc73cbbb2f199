package demo

import (
	"net/http"
	"time"

	"shunt/internal/sim"
)

// seed gives the first nine sessions their homes on the three accounts in turn: the first on the account that fills up first,
// and the second, which uses Fable, on the account whose Fable window is nearly used up.
const seed = 3756

// incident is something that happens to an account from outside. It repeats every period.
type incident struct {
	at     time.Duration // since the start of the period
	text   string        // shown when it happens; empty if the gateway's reaction shows it
	happen func(*sim.Provider)
}

const (
	// period is the length of the five-hour window, so that every period meets the windows in the same state.
	period      = 5 * time.Hour
	usedUpAt    = 22 * time.Minute
	birchResets = usedUpAt + 6*time.Minute
	amberResets = 40 * time.Minute
)

// incidents are in order of time. All but the first happen while amber has room, so that cedar is never out of service while
// it is the only account that can serve.
var incidents = []incident{
	{usedUpAt, "another program used up birch's 5h window; the gateway does not know yet", func(p *sim.Provider) {
		p.Fill("birch", fiveHour, 1)
	}},
	{50 * time.Minute, "", func(p *sim.Provider) { p.Inject("cedar", sim.Overloaded().Times(1)) }},
	{70 * time.Minute, "", func(p *sim.Provider) { p.Inject("amber", sim.Throttled("20").Times(1)) }},
	{90 * time.Minute, "the provider expired cedar's access token early", func(p *sim.Provider) {
		p.ExpireTokens("cedar")
	}},
	{110 * time.Minute, "", func(p *sim.Provider) { p.Inject("cedar", sim.ServerError(http.StatusBadGateway).Times(1)) }},
}

// demoAccounts returns the accounts, with windows in proportion to the number of sessions. Amber fills up before its 5h window
// resets; cedar could serve all sessions alone, so that no request fails.
func demoAccounts(sessions int) []sim.Account {
	const million = 1_000_000
	window := func(millions, fill float64, resetIn time.Duration) sim.Window {
		return sim.Window{Size: int64(millions * million * float64(max(sessions, 1))), Fill: fill, ResetIn: resetIn}
	}
	const day = 24 * time.Hour
	return []sim.Account{
		{
			Name:     "amber",
			FiveHour: window(1, 0.93, amberResets), SevenDay: window(400, 0.61, 2*day+3*time.Hour), Fable: window(400, 0.34, 2*day+3*time.Hour),
		},
		{
			Name:     "birch",
			FiveHour: window(2, 0.24, birchResets), SevenDay: window(400, 0.35, 4*day), Fable: window(1.3, 0.95, 4*day),
		},
		{
			Name:     "cedar",
			FiveHour: window(12, 0.57, 200*time.Minute), SevenDay: window(400, 0.12, 6*day), Fable: window(400, 0.08, 6*day),
		},
	}
}
