package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

// browser returns what opens an address in the person's browser. It returns when the program that opens it has ended, which
// with some is when the browser is closed, or with ctx; it ends no program.
func browser(s *System) func(ctx context.Context, address string) error {
	return func(ctx context.Context, address string) error {
		if s.Getenv("SSH_CONNECTION") != "" && s.Getenv("DISPLAY") == "" && s.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("this is a remote session without a display")
		}
		name := "xdg-open"
		if runtime.GOOS == "darwin" {
			name = "open"
		}
		command := exec.Command(name, address)
		command.Env = s.Env
		// A session of its own: Ctrl-C here is none of the browser's business, nor is this terminal.
		command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := command.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
