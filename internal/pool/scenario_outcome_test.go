package pool

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"shunt/internal/quota"
)

// outcome reads "429 5h=rejected/.99/+2h retry=30s": the response, with its cooldown.
func outcome(words []string, scope quota.Scope) (Outcome, error) {
	o := Outcome{Sent: time.Now(), Scope: scope}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "5h":
			err = windowSignal(&o.Signal.Windows[FiveHour], value)
		case "7d":
			err = windowSignal(&o.Signal.Windows[SevenDay], value)
		case "fable":
			if value != "" {
				err = windowSignal(&o.Signal.Windows[FableWeek], value)
			}
		case "all":
			var all quota.WindowSignal
			err = windowSignal(&all, value)
			o.Signal.Status, o.Signal.Reset = all.Status, all.Reset
		case "retry":
			o.Cooldown, err = duration(value)
		case "sent":
			var ago time.Duration
			ago, err = duration(value)
			o.Sent = time.Now().Add(ago)
		case "why", "moved", "detour":
		default:
			err = fmt.Errorf("unknown option %q", name)
		}
		if err != nil {
			return o, err
		}
	}
	var usual time.Duration
	switch words[0] {
	case "200":
		o.Event = Success
	case "404":
		o.Event = None
	case "429":
		o.Event, usual = refusal(o), time.Minute
		if o.Event == ScopeRejected {
			o.RejectedScope = o.Scope
		}
	case "401":
		o.Event, usual = Unauthorized, 300*time.Second
	case "403":
		o.Event, usual = Forbidden, 300*time.Second
	case "unresolved":
		o.Event, usual = Unresolved, 300*time.Second
	case "login":
		o.Event, usual = LoginNeeded, 300*time.Second
	case "529":
		o.Event, usual = Overloaded, 5*time.Second
	case "500":
		o.Event, usual = ServerError, 30*time.Second
	case "lost":
		o.Event, usual = Transport, 30*time.Second
	case "host":
		o.Event, usual = HostDown, 5*time.Second
	default:
		return o, fmt.Errorf("unknown outcome %q", words[0])
	}
	if o.Cooldown == 0 {
		o.Cooldown = usual
	}
	return o, nil
}

// refusal returns the event of a 429 with these statuses.
func refusal(o Outcome) Event {
	switch named := o.Signal.Rejected(); {
	case named == quota.Of(FableWeek) && o.Scope == Fable:
		return ScopeRejected
	case named != 0, o.Signal.Status == "rejected":
		return Rejected
	}
	return Throttled
}

// windowSignal reads the parts of "rejected/.99/+2h" in any order: a status, a utilization, a reset from now.
func windowSignal(sig *quota.WindowSignal, value string) error {
	for _, part := range strings.Split(value, "/") {
		if from, isReset := strings.CutPrefix(part, "+"); isReset {
			d, err := duration(from)
			if err != nil {
				return err
			}
			sig.Reset = time.Now().Add(d)
		} else if u, err := strconv.ParseFloat(part, 64); err == nil {
			sig.Utilization, sig.HasUtilization = u, true
		} else {
			sig.Status = part
		}
	}
	return nil
}

// duration is a [time.Duration] that may also be written in days.
func duration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

func option(words []string, name string) (string, bool) {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value, true
		}
	}
	return "", false
}
