// Package simulate plays one workload against several scheduling policies in virtual time, and compares what became of it
// (SIM-1). Two of the policies are the scheduler of package pool itself, as the gateway uses it, with and without
// [server.pool]; the others are what simpler tools do; the last line is a bound that nobody can pass. Nothing sleeps,
// nothing is sent, and the same options give the same result, to the last bit on one kind of machine.
//
// # What is assumed
//
// Cost. The unit is one uncached input token of a Sonnet-class model. Reading a token from the prompt cache costs 0.1,
// writing it 1.25, an output token 5. Opus costs 5/3 of that, Fable twice, Haiku a third. Windows count these units.
//
// Windows. An account is a plan of some size; size 1 holds 1.5 million units in five hours, 15 million in a week and
// 6 million of Fable in a week. Windows follow each other without a gap, begin at whole hours that differ from account
// to account, and are part-used when the run begins, as if the week so far had gone evenly. A request is admitted while
// no window that it counts in is full, and then counted whole, so that the last one may pass the limit. Headers tell what
// was used before the request they answer; a refusal says how long until the last of the full windows resets.
//
// Cache. An account keeps the prompt of a conversation for a time after its last use (five minutes). Accounts do not
// share it: a turn on an account that does not have the conversation's newest prompt writes what is missing.
//
// Sessions. They arrive mostly in office hours, one in five at any hour; they work in bursts of turns seconds apart with
// pauses to think between them, start sub-agents that are conversations of their own under the same session, and grow
// until they are compacted. A refused turn is lost, and the next one comes as it would have come, so that every policy is
// asked for the same.
//
// Others. Each account is also used by somebody whom shunt does not see, in sessions of their own. What they use is given:
// it counts whether the window is full or not.
//
// # What is counted
//
// The work of a turn is what it costs when no turn of its conversation was moved or refused: it depends on the workload
// alone, not on the policy. Work served is the work of the turns that were answered. Tokens that were written again because
// a move left the cache behind are quota burnt, and no work.
//
// The upper bound is what a linear program says that the windows could have served at most: bound.go says why.
package simulate

import (
	"errors"
	"fmt"
	"time"

	"shunt/internal/family/claude"
)

// Options describe a comparison; [Defaults] are a start. Fractions are of 1.
type Options struct {
	Seed   uint64    `json:"seed"`
	Days   int       `json:"days"`            // of a synthetic workload
	Plans  []float64 `json:"plans"`           // an account each, the size of its plan
	Demand float64   `json:"demand"`          // work asked for, a fraction of what the weekly windows hold for it
	Others float64   `json:"others"`          // what others use of the weekly windows, a fraction of them in the mean
	Fable  float64   `json:"fable"`           // fraction of the sessions that use a Fable model
	Cache  Seconds   `json:"cache_seconds"`   // how long a prompt stays cached after its last use
	Trace  string    `json:"trace,omitempty"` // what the name of a replayed log is

	// Of shunt with [server.pool]: usage_refresh_seconds (0 = off), burn_rate_avoidance, and return_home = "when_cold".
	Poll     Seconds `json:"usage_refresh_seconds"`
	BurnRate bool    `json:"burn_rate_avoidance"`
	WhenCold bool    `json:"return_home_when_cold"`
	// Threshold is the soft threshold of every account of shunt; 0 = the hard one.
	Threshold float64 `json:"threshold,omitempty"`
}

// Seconds is a number of seconds.
type Seconds int

// Duration is the same as a duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// Defaults are the options of `shunt simulate` without flags.
func Defaults() Options {
	return Options{
		Seed: 1, Days: 14, Plans: []float64{20, 20, 5, 5, 5}, Demand: 0.95, Others: 0.08, Fable: 0.2,
		Cache: 300, Poll: 300,
	}
}

// The most that a comparison may be asked for, so that it ends and fits into memory.
const (
	mostAccounts = 64
	mostDays     = 365
	mostPlan     = 1000
	mostDemand   = 10
	mostTurns    = 10e6
)

// usualTurn is the work of a turn of a synthetic workload, about.
const usualTurn = 17e3

// Check reports what makes the options unusable. Conditions are written so that NaN fails.
func (o *Options) Check() error {
	fraction := func(f float64) bool { return f >= 0 && f < 1 }
	switch {
	case o.Days < 1 || o.Days > mostDays:
		return errors.New("days: a number from 1 to 365")
	case len(o.Plans) > mostAccounts || len(o.Plans) == 0 && o.Trace == "":
		return errors.New("plans: 1 to 64 of them")
	case !(o.Demand > 0 && o.Demand <= mostDemand):
		return errors.New("demand: more than 0, at most 10")
	case !(fraction(o.Others) && o.Others <= 0.4):
		return errors.New("others: from 0 to 0.4")
	case !(o.Fable >= 0 && o.Fable <= 1):
		return errors.New("fable: from 0 to 1")
	case !fraction(o.Threshold):
		return errors.New("threshold: from 0 to less than 1")
	case o.Cache < 0 || o.Poll < 0 || o.Poll > 0 && o.Poll < 60:
		return errors.New("usage refresh: 0, or at least 60 seconds")
	}
	all := 0.0
	for _, plan := range o.Plans {
		if !(plan > 0 && plan <= mostPlan) {
			return errors.New("plans: each more than 0, at most 1000")
		}
		all += plan
	}
	if turns := o.Demand * all * sizes[claude.SevenDay] * float64(o.Days) / 7 / usualTurn; o.Trace == "" && turns > mostTurns {
		return fmt.Errorf("about %.0f million turns are too many: fewer days, smaller plans or less demand", turns/1e6)
	}
	return nil
}
