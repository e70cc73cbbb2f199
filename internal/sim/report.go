package sim

import (
	"errors"
	"math"
	"slices"
	"time"
)

// Report is what a session lived through.
type Report struct {
	Turns    int // all that came to an end
	Answered int // whole and verified

	Refused     map[int]int // by status; 200 is an error inside a stream
	Limited     int         // of those, quota refusals, which Claude Code shows as a limit and does not retry
	Cut         int         // ended before their end, and again when they were sent without a stream
	Damaged     int         // changed, mixed or malformed
	Unreachable int         // no answer was begun
	Resent      int         // streams that were cut and sent again

	Accounts map[string]int // turns answered by each, as x-shunt-account told
	Moves    int            // turns answered by another account than the one before
	Tokens   Tokens         // of the answered turns

	FirstByte, Total Latency // of the answered turns

	Errors []error // the first few

	last string // account of the last answered turn
}

const keptErrors = 8

func newReport() Report { return Report{Refused: map[int]int{}, Accounts: map[string]int{}} }

func (r *Report) add(t Turn) {
	r.Turns++
	if t.Resent {
		r.Resent++
	}
	if t.Err != nil {
		r.fail(t)
		return
	}
	r.Answered++
	r.Tokens.add(t.Usage)
	r.FirstByte.add(t.FirstByte)
	r.Total.add(t.Total)
	if t.Account != "" {
		r.Accounts[t.Account]++
		if r.last != "" && r.last != t.Account {
			r.Moves++
		}
		r.last = t.Account
	}
}

func (r *Report) fail(t Turn) {
	if len(r.Errors) < keptErrors {
		r.Errors = append(r.Errors, t.Err)
	}
	var refusal *Refusal
	var damaged *DamagedError
	switch {
	case errors.As(t.Err, &refusal):
		r.Refused[refusal.Status]++
		if refusal.limited() {
			r.Limited++
		}
	case errors.As(t.Err, &damaged):
		r.Damaged++
	case errors.Is(t.Err, ErrCut):
		r.Cut++
	default:
		r.Unreachable++
	}
}

// Latency collects durations: all of them in Count and Max, the newest in quantiles.
type Latency struct {
	Count  int
	Max    time.Duration
	recent []time.Duration
}

const keptDurations = 1024

func (l *Latency) add(d time.Duration) {
	if len(l.recent) < keptDurations {
		l.recent = append(l.recent, d)
	} else {
		l.recent[l.Count%keptDurations] = d
	}
	l.Count++
	l.Max = max(l.Max, d)
}

// Quantile is the least duration that the fraction q of the newest ones does not exceed; 0 without any.
func (l Latency) Quantile(q float64) time.Duration {
	if len(l.recent) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.recent))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
