package upstream

import (
	"errors"
	"time"

	"shunt/internal/http1"
	"shunt/internal/observe"
)

// What a call came to that no class stands for.
const (
	clientGone     = "client_gone"
	headersTooLate = "header_timeout"
)

// call notes that an upstream is called.
func (r *Request) call(account string) {
	r.Record.Attempts++
	r.Record.Calls = append(r.Record.Calls, observe.Call{
		Provider: r.Record.Provider, Account: account, Model: r.Model, Began: time.Now(),
	})
}

// heard notes what the latest call came to: a response, or an error.
func (r *Request) heard(response *http1.Response, err error) {
	c := &r.Record.Calls[len(r.Record.Calls)-1]
	c.Head = time.Since(c.Began)
	if err == nil {
		c.Status = response.Status
	}
	switch {
	case r.Client.Context().Err() != nil:
		c.Result = clientGone
	case err == nil:
		return
	case errors.Is(err, http1.ErrPatience):
		c.Result = headersTooLate
	case errors.Is(err, http1.ErrNoConnection):
		c.Result = hostDown.String()
	case errors.Is(err, http1.ErrAnswer):
		c.Result = unreadable.String()
	default:
		c.Result = unreachable.String()
	}
	c.Took = c.Head
}

// meant notes what the response of the latest call means, and whether it goes to the client as it comes.
func (r *Request) meant(class class, relayed bool) {
	c := &r.Record.Calls[len(r.Record.Calls)-1]
	c.Result = class.String()
	if !relayed {
		c.Took = time.Since(c.Began)
	}
}
