package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"shunt/internal/oauth"
)

// maxPastes is how many times a person may paste something that is not a code of this login.
const maxPastes = 5

var errNoCode = errors.New("this is not a code: paste all of it, as the page shows it after you allow the login")

// authorize has a person allow a login: in a browser on this machine or, if manual is set or that fails, by hand (LOG-2).
func (l *login) authorize(ctx context.Context, kind oauth.Kind, manual bool) (granted, error) {
	if kind == oauth.SetupToken || manual {
		return l.authorizeByHand(ctx, kind, !manual)
	}
	got, err := l.authorizeHere(ctx)
	var unreachable *callbackError
	if !errors.As(err, &unreachable) {
		return got, err
	}
	if l.family.Vendor.ManualRedirect == "" {
		return granted{}, fmt.Errorf("the login in the browser failed: %w; use --mode %s, which needs no port of this machine", err, modeDevice)
	}
	fmt.Fprintf(l.stderr, "\nThe login in the browser failed: %v.\nPaste the code by hand instead.\n", err)
	return l.authorizeByHand(ctx, kind, false)
}

// callbackError reports that the browser cannot bring or did not bring the code.
type callbackError struct{ cause error }

func (e *callbackError) Error() string { return e.cause.Error() }
func (e *callbackError) Unwrap() error { return e.cause }

// authorizeHere has a browser on this machine bring the code (LOG-2).
func (l *login) authorizeHere(ctx context.Context) (granted, error) {
	listener, err := l.listen()
	if err != nil {
		if port := l.family.Vendor.CallbackPort; port != 0 && errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("port %d is in use, perhaps by another login, and %s accepts no other", port, l.family.Title)
		}
		return granted{}, &callbackError{fmt.Errorf("could not open a port for the browser: %w", err)}
	}
	callback := oauth.NewCallback(listener, l.family.Vendor.CallbackPath)
	attempt := l.client.Begin(oauth.Renewable, callback.Redirect())
	fmt.Fprintf(l.stderr, "\nAllow the login in the browser that opens. If none opens, open this address on this machine:\n\n  %s\n\n"+
		"To use a browser on another machine, press Ctrl-C and use %s.\n", attempt.AuthorizeURL(), l.elsewhere())
	waiting, end := context.WithCancelCause(ctx)
	var opening sync.WaitGroup
	opening.Go(func() {
		if err := l.browse(waiting, attempt.AuthorizeURL()); err != nil {
			end(fmt.Errorf("could not open a browser: %w", err))
		}
	})
	code, state, err := callback.Wait(waiting, attempt)
	end(nil)
	opening.Wait()
	switch {
	case ctx.Err() != nil:
		return granted{}, ctx.Err()
	case errors.Is(err, oauth.ErrDenied):
		return granted{}, fmt.Errorf("%w in the browser; nothing was stored", err)
	case err != nil:
		return granted{}, &callbackError{err}
	}
	return exchange(ctx, attempt, code, state)
}

// elsewhere returns the flags for a login with a browser on another machine.
func (l *login) elsewhere() string {
	if l.family.Vendor.ManualRedirect == "" {
		return "--mode " + modeDevice
	}
	return "--manual"
}

// authorizeByHand has a person paste the code (LOG-3, LOG-4). If open is set, it also opens a browser.
func (l *login) authorizeByHand(ctx context.Context, kind oauth.Kind, open bool) (granted, error) {
	attempt := l.client.Begin(kind, "")
	fmt.Fprintf(l.stderr, "\nOpen this address in a browser, allow the login, and paste the code that the page shows:\n\n  %s\n\n", attempt.AuthorizeURL())
	if open {
		opening, end := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer end()
		running.Go(func() { _ = l.browse(opening, attempt.AuthorizeURL()) }) // if it fails, the address is on the screen
	}
	for try := 1; ; try++ {
		pasted, err := l.prompt(ctx, "Code (hidden): ", true)
		if err != nil {
			return granted{}, inputError(err)
		}
		code, state, ok := l.client.SplitCode(pasted)
		if !ok {
			err = errNoCode
		} else {
			var got granted
			if got, err = exchange(ctx, attempt, code, state); !errors.Is(err, oauth.ErrState) {
				return got, err
			}
			err = errors.New("this code belongs to another login; open the address above for the right one")
		}
		if !l.interactive || try == maxPastes {
			return granted{}, err
		}
		fmt.Fprintf(l.stderr, "%v.\n", err)
	}
}

// exchange trades the code for tokens.
func exchange(ctx context.Context, attempt *oauth.Login, code, state string) (granted, error) {
	sent := time.Now()
	grant, err := attempt.Exchange(ctx, code, state)
	if err != nil {
		return granted{}, fmt.Errorf("log in: %w", err)
	}
	return granted{grant, sent}, nil
}

// inputError returns the error of a prompt, for people.
func inputError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("standard input has ended before a prompt: run this in a terminal")
	}
	return err
}
