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
	st, err := openStage(o)
	if err != nil {
		return err
	}
	err = st.play(ctx, newScreen(o))
	return errors.Join(err, st.close())
}

// play shows the demo on the screen until ctx ends, and then a summary.
func (s *stage) play(ctx context.Context, screen screen) error {
	// The sessions end before the gateway does, so that none of them sees it shut down.
	playing, endPlay := context.WithCancel(ctx)
	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	defer endServing()
	served := make(chan error, 1)
	go func() {
		served <- s.app.Run(serving, s.listener, nil)
		endPlay()
	}()
	var players sync.WaitGroup
	players.Go(func() { s.haveAccidents(playing) })
	for n := range s.options.Sessions {
		players.Go(func() { s.session(playing, n+1) })
	}

	began := time.Now()
	shown := screen.open(s.intro())
	for shown == nil && wait(playing, screen.interval()) {
		shown = screen.show(s.frame(began))
	}
	last := s.frame(began)
	endPlay()
	players.Wait()
	endServing()
	err := errors.Join(shown, <-served)
	if shown == nil {
		err = errors.Join(err, screen.close(last, s.outro(last)))
	}
	return errors.Join(err, s.story.verdict())
}

func (s *stage) frame(began time.Time) *frame {
	now := s.clock.Now()
	f := &frame{
		speed: s.options.Speed, lasted: time.Since(began), simulated: now.Sub(s.story.began),
		accounts: standings(s.app, now), refreshes: s.provider.Counters("").Refreshes,
	}
	s.story.fill(f)
	return f
}

func (s *stage) intro() []string {
	return []string{
		fmt.Sprintf("shunt demo: three simulated accounts, %s, %s.", counted(s.options.Sessions, "session"), pace(s.options.Speed)),
		"Join in with a real Claude Code (its answers are simulated, too):",
		"  export ANTHROPIC_BASE_URL=" + s.url,
		"  export ANTHROPIC_AUTH_TOKEN=any",
		"Dashboard: " + s.url + "/admin with the token " + s.adminToken,
		"Edit " + s.configFile + " and watch. Ctrl-C ends the demo.",
		"",
	}
}

// pace is a speed in words.
func pace(speed float64) string {
	if speed == 1 {
		return "at real speed"
	}
	return fmt.Sprintf("%g times as fast", speed)
}

// outro sums up. It is called when the gateway has shut down, so that its numbers are final.
func (s *stage) outro(last *frame) []string {
	s.story.fill(last)
	lines := []string{
		fmt.Sprintf("That was %s simulated in %s: %s.", roughly(last.simulated.Round(time.Second)), roughly(last.lasted.Round(time.Second)), last.totals()),
	}
	for _, a := range last.accounts {
		served := last.served[a.name]
		lines = append(lines, fmt.Sprintf("  %s answered %s with %s tokens.", a.name, counted(served.requests, "request"), amount(served.tokens)))
	}
	return lines
}

// wait waits for d and reports whether ctx has not ended by then.
func wait(ctx context.Context, d time.Duration) bool { return clock.Clock{}.Sleep(ctx, d) == nil }
