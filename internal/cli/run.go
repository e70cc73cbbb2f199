package cli

import (
	"context"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"shunt/internal/app"
	"shunt/internal/observe"
	"shunt/internal/version"
)

type runCommand struct{}

// Run serves until a signal stops it. A second signal stops the process at once.
func (*runCommand) Run(c *commands, s *System) error {
	cfg, warnings, err := load(c, s)
	if err != nil {
		printLines(s.Stderr, err.Error(), "shunt: the configuration has problems; shunt did not start")
		return errReported
	}
	level := new(slog.LevelVar)
	level.Set(cfg.Log.Level)
	follow := level
	if flag, ok := c.level(); ok {
		level.Set(flag)
		follow = nil
	}
	signal.Ignore(syscall.SIGPIPE) // shunt keeps running if the reader of its log is gone
	loggerTo := func(w io.Writer) *slog.Logger {
		return observe.NewLogger(w, level, string(cfg.Log.Format), isTerminal(s.Stderr))
	}
	out := observe.NewOutput(s.Stderr, func(w io.Writer, lost int64) {
		loggerTo(w).Warn("log lines lost: the reader of this log is too slow", "lines", lost)
	})
	defer out.Close()
	log := loggerTo(out)
	if cfg.Path == "" {
		log.Info("no configuration file: using the built-in defaults; `shunt init` writes one to start from")
	} else {
		log.Info("configuration loaded", "file", cfg.Path)
	}
	for _, w := range warnings {
		log.Warn(w.String())
	}

	// net/http logs unexpected bytes from an upstream to the standard logger, and they may be part of a response.
	stdlog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop)
	a, err := app.New(cfg, app.Options{Families: c.families, Version: version.String(), Env: s.Env, Log: log, Level: follow})
	if err != nil {
		return err
	}
	l, err := a.Listen()
	if err != nil {
		return err
	}
	hup := make(chan struct{})
	go forwardHangups(ctx, hup)
	defer runtime.KeepAlive(ballast())
	return a.Run(ctx, l, hup)
}

// ballast returns memory that counts as live but uses none, because nothing touches it. The garbage collector runs when the heap
// has doubled; with the few megabytes that shunt keeps alive, that would be dozens of times per second under load.
func ballast() []byte { return make([]byte, 32<<20) }

// forwardHangups sends a value to hup for each SIGHUP, until ctx ends.
func forwardHangups(ctx context.Context, hup chan<- struct{}) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			select {
			case hup <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}
}
