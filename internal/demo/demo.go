// Package demo runs shunt without any account (CLI-3): a simulated provider, a gateway in front of it with a temporary home,
// and simulated coding sessions, all in one process. It shows the pool while quota windows fill and sessions move.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"shunt/internal/clock"
)

// Options describe a demo.
type Options struct {
	Version  string  // of shunt
	Speed    float64 // how fast the clock of the gateway, the provider and the sessions runs; 1 is real time
	Sessions int     // number of simulated coding sessions
	LogLevel slog.Level

	Out   *os.File
	Live  bool // Out is a terminal on which each frame replaces the one before; without it a frame is one line of text
	Color bool // use colors on a live terminal
}

// Run runs the demo until ctx ends or Out cannot be written to. It returns an error if a simulated session saw a failure,
// because that is what shunt is there to prevent (CLI-3).
func Run(ctx context.Context, o Options) error {
	s, err := openSimulation(o)
	if err != nil {
		return err
	}
	err = s.run(ctx, newScreen(o))
	return errors.Join(err, s.close())
}

// run shows the demo on the screen until ctx ends, and then the results.
func (s *simulation) run(ctx context.Context, screen screen) error {
	// The sessions end before the gateway does, so that none of them sees it shut down.
	running, stopWorkers := context.WithCancel(ctx)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	served := make(chan error, 1)
	go func() {
		served <- s.app.Run(serving, s.listener, nil)
		stopWorkers()
	}()
	var workers sync.WaitGroup
	workers.Go(func() { s.runIncidents(running) })
	for n := range s.options.Sessions {
		workers.Go(func() { s.session(running, n+1) })
	}

	began := time.Now()
	shown := screen.open(s.intro())
	for shown == nil && wait(running, screen.interval()) {
		shown = screen.show(s.frame(began))
	}
	last := s.frame(began)
	stopWorkers()
	workers.Wait()
	stopServing()
	err := errors.Join(shown, <-served)
	if shown == nil {
		err = errors.Join(err, screen.close(last, s.results(last)))
	}
	return errors.Join(err, s.timeline.err())
}

func (s *simulation) frame(began time.Time) *frame {
	now := s.clock.Now()
	f := &frame{
		speed: s.options.Speed, lasted: time.Since(began), simulated: now.Sub(s.timeline.began),
		accounts: standings(s.app, now), refreshes: s.provider.Counters("").Refreshes,
	}
	s.timeline.fill(f)
	return f
}

func (s *simulation) intro() []string {
	return []string{
		fmt.Sprintf("shunt demo: three simulated accounts, %s, %s.", counted(s.options.Sessions, "session"), pace(s.options.Speed)),
		"To join with a real Claude Code (its responses are simulated too):",
		"  export ANTHROPIC_BASE_URL=" + s.url,
		"  export ANTHROPIC_AUTH_TOKEN=any",
		"Dashboard: " + s.url + "/admin, token " + s.adminToken,
		"To try other settings, edit " + s.configFile + ". Ctrl-C stops the demo.",
		"",
	}
}

// pace describes a speed.
func pace(speed float64) string {
	if speed == 1 {
		return "at real speed"
	}
	return fmt.Sprintf("at %g times real speed", speed)
}

// results returns the final totals. The gateway must have ended, so that no request is missing.
func (s *simulation) results(last *frame) []string {
	s.timeline.fill(last)
	lines := []string{
		fmt.Sprintf("Simulated %s in %s: %s.", roughly(last.simulated.Round(time.Second)), roughly(last.lasted.Round(time.Second)), last.totals()),
	}
	for _, a := range last.accounts {
		served := last.served[a.name]
		lines = append(lines, fmt.Sprintf("  %s served %s with %s tokens.", a.name, counted(served.requests, "request"), amount(served.tokens)))
	}
	return lines
}

// wait waits for d and reports whether ctx has not ended by then.
func wait(ctx context.Context, d time.Duration) bool { return clock.Clock{}.Sleep(ctx, d) == nil }
