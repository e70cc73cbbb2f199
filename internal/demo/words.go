package demo

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"shunt/internal/observe"
)

// move tells a session's change of account, about the session.
func (s *story) move(r *observe.Record, session int, accounts []standing) string {
	m, fable := r.Move, isFable(r.Model)
	step, why := fmt.Sprintf("moved from %s to %s", m.From, m.To), strings.ReplaceAll(m.Reason, "_", " ")
	switch m.Reason {
	case "returned":
		step, why = "went home to "+m.To, "it is usable again"
		to := standingOf(accounts, m.To)
		if w, known := s.left[departure{session, m.To}]; known && w >= 0 && !to.windows[w].near() {
			why = "its " + windowWords[w] + " has begun anew"
		}
	case "near_quota":
		why = m.From + " was near its quota"
		if w := nearWindow(accounts, m.From, fable); w >= 0 {
			step += " before " + m.From + " refuses"
			why = fmt.Sprintf("%s of its %s is used", percent(standingOf(accounts, m.From).windows[w].used), windowWords[w])
		}
	case "cooled":
		why = m.From + " is resting"
		// Its cooldown may be over by the end of the request that it kept away.
		if cause, known := causes[cmp.Or(standingOf(accounts, m.From).cause, s.refused[m.From])]; known {
			why += ", " + cause
		}
	case "failover":
		why = s.refusal(m.From, fable, accounts) + "; " + m.To + " answered the same request"
	case "disabled":
		why = m.From + " was switched off"
	case "pool_changed":
		why = "the list of accounts was changed"
	}
	return step + ": " + why
}

// refusal says why an account did not answer a request.
func (s *story) refusal(account string, fable bool, accounts []standing) string {
	reason := s.refused[account]
	if reason == "rejected" || reason == "fable_rejected" {
		if w := nearWindow(accounts, account, fable); w >= 0 {
			return fmt.Sprintf("%s answered 429, its %s is used up", account, windowWords[w])
		}
	}
	return account + " did not answer, " + cmp.Or(causes[reason], "it failed")
}

// causes are the reasons of a rotation and the causes of a cooldown, about an account that was just named.
var causes = map[string]string{
	"rejected":           "its quota is used up (429)",
	"fable_rejected":     "its Fable quota is used up (429)",
	"throttled":          "it asked to slow down (429)",
	"unauthorized":       "its token was refused (401)",
	"credential_refused": "its credential was refused (403)",
	"forbidden":          "its credential was refused (403)",
	"overloaded":         "it was overloaded (529)",
	"server_error":       "it failed (5xx)",
	"unreachable":        "its connection broke",
	"transport":          "its connection broke",
	"host_down":          "it could not be reached",
	"unresolved":         "its token could not be renewed",
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

// sessionWords are some sessions in a sentence. The simulated ones are there from the start; who comes later is a real
// client.
func sessionWords(sessions []int, simulated int) string {
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
		all = append(all, fmt.Sprintf("%d sessions of yours", own))
	}
	return listed(all)
}

// listed joins words as in "1, 2 and 3".
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
