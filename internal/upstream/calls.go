package upstream

import (
	"errors"
	"time"

	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/observe"
)

// headersTooLate is the result of a call that was given up because no headers came in time; there is no class for it.
const headersTooLate = "header_timeout"

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
		c.Result = string(r.departure())
	case err == nil:
		return
	case errors.Is(err, http1.ErrPatience):
		c.Result = headersTooLate
	default:
		class, _ := classifyError(err)
		c.Result = class.String()
	}
	c.Took = c.Head
}

// meant notes what the response of the latest call means, and whether it goes to the client as it comes.
func (r *Request) meant(class string, relayed bool) {
	c := &r.Record.Calls[len(r.Record.Calls)-1]
	c.Result = class
	if !relayed {
		c.Took = time.Since(c.Began)
	}
}

// streamFailed records that the response of the latest call, which was relayed, has an error event: it is not a success (OBS-1).
func (r *Request) streamFailed() {
	if c := &r.Record.Calls[len(r.Record.Calls)-1]; c.Result == family.Success.String() {
		c.Result = observe.ResultStreamError
	}
}
