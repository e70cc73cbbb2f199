package demo

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"shunt/internal/observe"
)

// move describes a session's change of account, without the session's name.
func (s *timeline) move(r *observe.Record, session int, accounts []standing) string {
	m, fable := r.Move, isFable(r.Model)
	step, why := fmt.Sprintf("moved from %s to %s", m.From, m.To), strings.ReplaceAll(m.Reason, "_", " ")
	switch m.Reason {
	case "returned":
		step, why = "returned to "+m.To, "it is available again"
		to := standingOf(accounts, m.To)
		if w, known := s.left[departure{session, m.To}]; known && w >= 0 && !to.windows[w].near() {
			why = "its " + windowNames[w] + " has reset"
		}
	case "near_quota":
		why = m.From + " was near its limit"
		if w := nearWindow(accounts, m.From, fable); w >= 0 {
			step += " before " + m.From + " hit its limit"
			why = fmt.Sprintf("%s of its %s is used", percent(standingOf(accounts, m.From).windows[w].used), windowNames[w])
		}
	case "cooled":
		why = m.From + " is cooling down"
		// The cooldown may have ended since the request was routed.
		if cause, known := causes[cmp.Or(standingOf(accounts, m.From).cause, s.failed[m.From])]; known {
			why += " because " + cause
		}
	case "failover":
		why = s.failureText(m.From, fable, accounts) + "; " + m.To + " served the request"
	case "disabled":
		why = m.From + " was disabled"
	case "pool_changed":
		why = "the list of accounts changed"
	}
	return step + ": " + why
}

// failureText describes why an account did not serve a request.
func (s *timeline) failureText(account string, fable bool, accounts []standing) string {
	reason := s.failed[account]
	if reason == "rejected" || reason == "fable_rejected" {
		if w := nearWindow(accounts, account, fable); w >= 0 {
			return fmt.Sprintf("%s returned 429 because its %s is used up", account, windowNames[w])
		}
	}
	if cause, known := causes[reason]; known {
		return account + " failed because " + cause
	}
	return account + " failed"
}

// causes describes the reasons of rotations and the causes of cooldowns, after the account's name and "because".
var causes = map[string]string{
	"rejected":           "its quota is used up (429)",
	"fable_rejected":     "its Fable quota is used up (429)",
	"throttled":          "it was throttled (429)",
	"not_included":       "its plan does not include this service",
	"payment_required":   "it requires a payment (402)",
	"unauthorized":       "its token was rejected (401)",
	"credential_refused": "its credential was rejected (403)",
	"forbidden":          "its credential was rejected (403)",
	"overloaded":         "it was overloaded (529)",
	"server_error":       "it returned a server error (5xx)",
	"unreachable":        "its connection failed",
	"transport":          "its connection failed",
	"host_down":          "it could not be reached",
	"unresolved":         "its token could not be refreshed",
}

func standingOf(accounts []standing, name string) standing {
	for _, a := range accounts {
		if a.name == name {
			return a
		}
	}
	return standing{name: name}
}

func nearWindow(accounts []standing, name string, fable bool) int {
	account := standingOf(accounts, name)
	return account.nearWindow(fable)
}

// sessionNames lists sessions in a sentence. Numbers above the number of simulated sessions are real clients.
func sessionNames(sessions []int, simulated int) string {
	var numbers, all []string
	own := 0
	for _, n := range sessions {
		if n > simulated {
			own++
			continue
		}
		numbers = append(numbers, strconv.Itoa(n))
	}
	switch n := len(numbers); {
	case n == 1:
		all = append(all, "session "+numbers[0])
	case n > 4:
		all = append(all, counted(n, "session"))
	case n > 1:
		all = append(all, "sessions "+listed(numbers))
	}
	switch {
	case own == 1:
		all = append(all, "your session")
	case own > 1:
		all = append(all, fmt.Sprintf("%d of your sessions", own))
	}
	return listed(all)
}

// listed joins words, as in "1, 2 and 3".
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
