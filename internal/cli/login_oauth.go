package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"shunt/internal/oauth"
)

// pasteTries is how often a person may paste something that is no code of this login.
const pasteTries = 5

var errNoCode = errors.New("that is not of the form CODE#STATE; the page shows it after you allow the login")

// permission has a person allow a login: over a callback, and by hand where that is asked for or all that is left (LOG-2).
func (l *login) permission(ctx context.Context, kind oauth.Kind, manual bool) (granted, error) {
	if kind == oauth.SetupToken || manual {
		return l.byHand(ctx, kind, !manual)
	}
	got, err := l.overCallback(ctx)
	var unreachable *callbackError
	if !errors.As(err, &unreachable) {
		return got, err
	}
	fmt.Fprintf(l.say, "\nThat way is closed: %v. So by hand:\n", err)
	return l.byHand(ctx, kind, false)
}

// callbackError says that no answer can come, or has come, over a callback.
type callbackError struct{ cause error }

func (e *callbackError) Error() string { return e.cause.Error() }
func (e *callbackError) Unwrap() error { return e.cause }

// overCallback logs in over a browser on this machine (LOG-2).
func (l *login) overCallback(ctx context.Context) (granted, error) {
	listener, err := l.listen()
	if err != nil {
		return granted{}, &callbackError{fmt.Errorf("no port of this machine can be opened for the browser's answer: %w", err)}
	}
	callback := oauth.NewCallback(listener)
	attempt := l.client.Begin(oauth.Renewable, callback.Redirect())
	fmt.Fprintf(l.say, "\nAllow the login in the browser that opens. If none does, open this address on this machine:\n\n  %s\n\n"+
		"For a browser on another machine, end this with Ctrl-C and use --manual.\n", attempt.AuthorizeURL())
	waiting, end := context.WithCancelCause(ctx)
	var opening sync.WaitGroup
	opening.Go(func() {
		if err := l.browse(waiting, attempt.AuthorizeURL()); err != nil {
			end(fmt.Errorf("no browser can be opened: %w", err))
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

// byHand logs in over a code that the person pastes (LOG-3, LOG-4).
func (l *login) byHand(ctx context.Context, kind oauth.Kind, open bool) (granted, error) {
	attempt := l.client.Begin(kind, "")
	fmt.Fprintf(l.say, "\nOpen this address in a browser, allow the login, and paste the code that the page shows:\n\n  %s\n\n", attempt.AuthorizeURL())
	if open {
		opening, end := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer end()
		running.Go(func() { _ = l.browse(opening, attempt.AuthorizeURL()) }) // the address is on the screen in any case
	}
	for try := 1; ; try++ {
		pasted, err := l.ask(ctx, "Code (it stays hidden): ", true)
		if err != nil {
			return granted{}, noAnswer(err)
		}
		code, state, ok := l.client.SplitCode(pasted)
		if !ok {
			err = errNoCode
		} else {
			var got granted
			if got, err = exchange(ctx, attempt, code, state); !errors.Is(err, oauth.ErrState) {
				return got, err
			}
			err = errors.New("that code belongs to another login; the page at the address above shows the right one")
		}
		if !l.interactive || try == pasteTries {
			return granted{}, err
		}
		fmt.Fprintf(l.say, "%v.\n", err)
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

// noAnswer is why a question to a person stays without an answer.
func noAnswer(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("standard input has ended, so nobody can answer: run this in a terminal")
	}
	return err
}
