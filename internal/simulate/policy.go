// Package simulate plays one workload against several scheduling policies in virtual time and compares the results (SIM-1).
// Two of the policies are the scheduler of package pool itself, used as the gateway uses it, with and without [server.pool].
// The others do what simpler tools do. The last line is an upper bound for every policy. Nothing sleeps and nothing is sent. The
// same options give the same result, to the last bit on one kind of machine.
//
// # Assumptions
//
// Cost. The unit is one uncached input token of a Sonnet-class model. Reading a token from the prompt cache costs 0.1,
// writing it 1.25, an output token 5. Opus costs 5/3 of that, Fable twice, Haiku a third. Windows count these units.
//
// Windows. An account is a plan of some size. Size 1 holds 1.5 million units in five hours, 15 million in a week and 6 million
// of Fable in a week. Windows follow each other without a gap, begin at whole hours that differ from account to account, and are
// partly used when the run begins, as after a week of even use. A request is admitted while no window that it counts in is full.
// It is then counted whole, so that the last one may exceed the limit. Headers report what was used before their request; a
// refusal reports how long until the last of the full windows resets.
//
// Cache. An account keeps the prompt of a conversation for a time after its last use (five minutes). Accounts do not
// share it: a turn on an account that does not have the conversation's newest prompt writes what is missing.
//
// Sessions. They arrive mostly in office hours, one in five at any hour. They work in bursts of turns seconds apart, with
// pauses to think between them. They start sub-agents, which are conversations of their own in the same session, and grow until
// they are compacted. A refused turn is lost, and the next one comes when it would have come anyway, so that every policy gets
// the same requests.
//
// Others. Each account is also used by clients that do not go through shunt, in sessions of their own. Their use is fixed: it
// counts whether the window is full or not.
//
// # Measures
//
// The work of a turn is what it costs when no turn of its conversation was moved or refused. It depends on the workload
// alone, not on the policy. Work served is the work of the turns that were served. Tokens that were written again because a move
// left the cache behind use quota and are not work.
//
// The upper bound is the most that the windows could have served according to a linear program; bound.go gives the reason.
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
	Plans  []float64 `json:"plans"`           // for each account, the size of its plan
	Demand float64   `json:"demand"`          // work requested, as a fraction of what the weekly windows hold for it
	Others float64   `json:"others"`          // what others use of the weekly windows, as a fraction on average
	Fable  float64   `json:"fable"`           // fraction of the sessions that use a Fable model
	Cache  Seconds   `json:"cache_seconds"`   // how long a prompt stays cached after its last use
	Trace  string    `json:"trace,omitempty"` // the name of a replayed log

	// Settings of shunt with [server.pool]: usage_refresh_seconds (0 = off), burn_rate_avoidance, and return_home = "when_cold".
	Poll     Seconds `json:"usage_refresh_seconds"`
	BurnRate bool    `json:"burn_rate_avoidance"`
	WhenCold bool    `json:"return_home_when_cold"`
	// Threshold is the soft threshold of every account of shunt; 0 = the hard one.
	Threshold float64 `json:"threshold,omitempty"`
}

// Seconds is a number of seconds.
type Seconds int

// Duration returns s as a duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// Defaults are the options of `shunt simulate` without flags.
func Defaults() Options {
	return Options{
		Seed: 1, Days: 14, Plans: []float64{20, 20, 5, 5, 5}, Demand: 0.95, Others: 0.08, Fable: 0.2,
		Cache: 300, Poll: 300,
	}
}

// The limits of a comparison, so that it ends and fits into memory.
const (
	mostAccounts = 64
	mostDays     = 365
	mostPlan     = 1000
	mostDemand   = 10
	mostTurns    = 10e6
)

// usualTurn is about the work of a turn of a synthetic workload.
const usualTurn = 17e3

// Check returns an error if the options are not valid. Conditions are written so that NaN fails.
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
