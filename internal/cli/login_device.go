package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"shunt/internal/oauth"
)

// authorizeDevice has a person type a code on a page of the provider's (GPT-9, KIMI-1).
func (l *login) authorizeDevice(ctx context.Context) (granted, error) {
	device, err := l.client.BeginDevice(ctx)
	if err != nil {
		return granted{}, err
	}
	fmt.Fprintf(l.stderr, "\nOpen this address in a browser on any machine, and enter the code:\n\n  %s\n\n  %s\n\n", device.Page, device.Code)
	waiting, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = l.browse(waiting, device.Page) }) // if it fails, the address is on the screen
	if l.interactive {
		running.Go(func() { l.countDown(waiting, device.Expires) })
	}
	grant, err := device.Wait(ctx)
	end()
	running.Wait()
	switch {
	case ctx.Err() != nil:
		return granted{}, ctx.Err()
	case errors.Is(err, oauth.ErrDenied):
		return granted{}, fmt.Errorf("%w in the browser; nothing was stored", err)
	case err != nil:
		return granted{}, fmt.Errorf("log in: %w", err)
	}
	return granted{grant, device.Requested}, nil
}

// countDown shows how much time is left to enter the code.
func (l *login) countDown(ctx context.Context, until time.Time) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		left := time.Until(until).Round(time.Second)
		fmt.Fprintf(l.stderr, "\rWaiting for the login: %d:%02d left ", int(left.Minutes()), int(left.Seconds())%60)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			fmt.Fprint(l.stderr, "\r\x1b[K")
			return
		}
	}
}
