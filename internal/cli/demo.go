package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"shunt/internal/clock"
)

type demoCommand struct {
	Accelerate float64       `default:"60" placeholder:"N" help:"Let time run N times as fast, 1 to 1000: quota windows, cooldowns, token expiry and the sessions' pauses. Default: ${default}."`
	Sessions   int           `default:"4" placeholder:"N" help:"Simulate N coding sessions, 0 to 100. Default: ${default}."`
	Duration   time.Duration `placeholder:"D" help:"End after D, such as 90s or 5m. Without it: at Ctrl-C."`
}

// Validate is called by kong.
func (k *demoCommand) Validate() error {
	switch {
	case !(k.Accelerate >= 1 && k.Accelerate <= 1000): // written so that NaN fails
		return errors.New("--accelerate takes a number from 1 to 1000")
	case k.Sessions < 0 || k.Sessions > 100:
		return errors.New("--sessions takes a number from 0 to 100")
	case k.Duration < 0:
		return errors.New("--duration cannot be negative")
	}
	return nil
}

// Run plays until the duration is over, a signal comes or nobody reads what it prints. It fails if a simulated session saw
// a failure, because that is what shunt is there to prevent (CLI-3).
func (k *demoCommand) Run(c *commands, s *System) error {
	// A reader that goes away is an error of writing, so that the temporary home is removed even then.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if k.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.Duration)
		defer cancel()
	}
	level, ok := c.level()
	if !ok {
		level = demoLogLevel
	}
	st, err := openStage(stageOptions{clock: clock.Accelerated(k.Accelerate), sessions: k.Sessions, logLevel: level})
	if err != nil {
		return err
	}
	err = k.play(ctx, st, newScreen(s))
	return errors.Join(err, st.close())
}

// play shows the stage until ctx ends, and then what became of it.
func (k *demoCommand) play(ctx context.Context, st *stage, screen screen) error {
	// The sessions end first, so that none of them sees the gateway go.
	playing, endPlay := context.WithCancel(ctx)
	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	defer endServing()
	served := make(chan error, 1)
	go func() {
		served <- st.app.Run(serving, st.listener, nil)
		endPlay()
	}()
	var players sync.WaitGroup
	players.Go(func() { st.haveAccidents(playing) })
	for n := range k.Sessions {
		players.Go(func() { st.session(playing, n+1) })
	}

	began := time.Now()
	shown := screen.open(k.intro(st))
	for shown == nil && wait(playing, screen.interval()) {
		shown = screen.show(k.frame(st, began))
	}
	last := k.frame(st, began)
	endPlay()
	players.Wait()
	endServing()
	err := errors.Join(shown, <-served)
	if shown == nil {
		err = errors.Join(err, screen.close(last, k.outro(st, last)))
	}
	return errors.Join(err, st.story.verdict())
}

func (k *demoCommand) frame(st *stage, began time.Time) *frame {
	now := st.clock.Now()
	f := &frame{
		speed: k.Accelerate, lasted: time.Since(began), simulated: now.Sub(st.story.began),
		accounts: standings(st.app, now), refreshes: st.provider.Counters("").Refreshes,
	}
	st.story.fill(f)
	return f
}

func (k *demoCommand) intro(st *stage) []string {
	return []string{
		fmt.Sprintf("shunt demo: three simulated accounts, %s, %s.", counted(k.Sessions, "session"), pace(k.Accelerate)),
		"Join in with a real Claude Code (its answers are simulated, too):",
		"  export ANTHROPIC_BASE_URL=" + st.url,
		"  export ANTHROPIC_AUTH_TOKEN=any",
		"Dashboard: " + st.url + "/admin with the token " + st.adminToken,
		"Edit " + st.configFile + " and watch. Ctrl-C ends the demo.",
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

// outro sums up. It is asked for when the gateway has ended, so that its numbers are final; the standing of the accounts is
// that of the last frame.
func (k *demoCommand) outro(st *stage, last *frame) []string {
	st.story.fill(last)
	lines := []string{
		fmt.Sprintf("That was %s simulated in %s: %s.", roughly(last.simulated.Round(time.Second)), roughly(last.lasted.Round(time.Second)), last.totals()),
	}
	for _, a := range last.accounts {
		served := last.served[a.name]
		lines = append(lines, fmt.Sprintf("  %s answered %s with %s tokens.", a.name, counted(served.requests, "request"), amount(served.tokens)))
	}
	return lines
}

// wait waits for d; it reports whether ctx still goes on then.
func wait(ctx context.Context, d time.Duration) bool { return clock.Clock{}.Sleep(ctx, d) == nil }
