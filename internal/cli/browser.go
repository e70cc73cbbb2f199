package cli

import (
	"context"
	"errors"
	"fmt"
)

// browser returns what opens an address in the person's browser. It returns when the program that opens it has ended, which
// with some is when the browser is closed, or with ctx; it ends no program.
func browser(s *System) func(ctx context.Context, address string) error {
	return func(ctx context.Context, address string) error {
		if s.Getenv("SSH_CONNECTION") != "" && s.Getenv("DISPLAY") == "" && s.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("this is a remote session without a display")
		}
		command := browserCommand(address)
		command.Env = s.Env
		if err := command.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s: %w", command.Args[0], err)
			}
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
