package cli

import (
	"context"
	"errors"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"shunt/internal/demo"
	"shunt/internal/version"
)

type demoCommand struct {
	Accelerate float64       `default:"60" placeholder:"N" help:"Run time N times as fast, 1 to 1000: quota windows, cooldowns, token expiry and the sessions' pauses. Default: ${default}."`
	Sessions   int           `default:"4" placeholder:"N" help:"Simulate N coding sessions, 0 to 100. Default: ${default}."`
	Duration   time.Duration `placeholder:"D" help:"Stop after D, such as 90s or 5m. Without it, stop at Ctrl-C."`
}

// Validate is called by kong.
func (k *demoCommand) Validate() error {
	switch {
	case !(k.Accelerate >= 1 && k.Accelerate <= 1000): // also rejects NaN
		return errors.New("--accelerate takes a number from 1 to 1000")
	case k.Sessions < 0 || k.Sessions > 100:
		return errors.New("--sessions takes a number from 0 to 100")
	case k.Duration < 0:
		return errors.New("--duration cannot be negative")
	}
	return nil
}

// Run runs the demo until the duration is over, a signal arrives or stdout is closed (CLI-3).
func (k *demoCommand) Run(c *commands, s *System) error {
	// With SIGPIPE ignored, a closed stdout is a write error, after which the demo removes its temporary home.
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
		level = slog.LevelWarn // keeps the log of a demo that is left running for a week small
	}
	return demo.Run(ctx, demo.Options{
		Version: version.String(), Speed: k.Accelerate, Sessions: k.Sessions, LogLevel: level,
		Out: s.Stdout, Live: isTerminal(s.Stdout) && s.Getenv("TERM") != "dumb", Color: s.Getenv("NO_COLOR") == "",
	})
}
