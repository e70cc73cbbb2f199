package sim

import (
	"errors"
	"math"
	"slices"
	"time"
)

// Report summarizes a session.
type Report struct {
	Turns     int // turns that ended
	Completed int // turns with a complete, verified response

	Failed      map[int]int // error responses by status; 200 is an error inside a stream
	Limited     int         // error responses that report a used-up quota, which Claude Code shows as a limit and does not retry
	Truncated   int         // responses that ended early, even without a stream
	Damaged     int         // responses that were changed, mixed up or malformed
	Unreachable int         // requests without any response
	Resent      int         // turns sent again after their stream was truncated

	Accounts map[string]int // completed turns by account, from x-shunt-account
	Moves    int            // completed turns on another account than the one before
	Tokens   Tokens         // of the completed turns

	FirstByte, Total Latency // of the completed turns

	Errors []error // the first few

	last string // account of the last completed turn
}

const maxErrors = 8

func newReport() Report { return Report{Failed: map[int]int{}, Accounts: map[string]int{}} }

func (r *Report) add(t Turn) {
	r.Turns++
	if t.Resent {
		r.Resent++
	}
	if t.Err != nil {
		r.fail(t)
		return
	}
	r.Completed++
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
	if len(r.Errors) < maxErrors {
		r.Errors = append(r.Errors, t.Err)
	}
	var apiErr *APIError
	var damaged *DamagedError
	switch {
	case errors.As(t.Err, &apiErr):
		r.Failed[apiErr.Status]++
		if apiErr.limited() {
			r.Limited++
		}
	case errors.As(t.Err, &damaged):
		r.Damaged++
	case errors.Is(t.Err, ErrTruncated):
		r.Truncated++
	default:
		r.Unreachable++
	}
}

// Latency collects durations. Count and Max cover all of them, quantiles only the most recent ones.
type Latency struct {
	Count  int
	Max    time.Duration
	recent []time.Duration
}

const maxDurations = 1024

func (l *Latency) add(d time.Duration) {
	if len(l.recent) < maxDurations {
		l.recent = append(l.recent, d)
	} else {
		l.recent[l.Count%maxDurations] = d
	}
	l.Count++
	l.Max = max(l.Max, d)
}

// Quantile returns the smallest recent duration that is at least as long as a fraction q of the recent ones, or 0 without any.
func (l Latency) Quantile(q float64) time.Duration {
	if len(l.recent) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.recent))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
