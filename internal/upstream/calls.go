package upstream

import (
	"errors"
	"time"

	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/observe"
)

// headersTooLate is the result of a call whose headers did not arrive in time; it has no class.
const headersTooLate = "header_timeout"

// noteSent records that the request is sent to an upstream.
func (r *Request) noteSent(account string) {
	r.Record.Attempts++
	r.Record.Calls = append(r.Record.Calls, observe.Call{
		Provider: r.Record.Provider, Account: account, Model: r.Model, Began: time.Now(),
	})
}

// noteResponse records the response to the latest call, or its error.
func (r *Request) noteResponse(response *http1.Response, err error) {
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
	case errors.Is(err, http1.ErrTimeout):
		c.Result = headersTooLate
	default:
		class, _ := classifyError(err)
		c.Result = class.String()
	}
	c.Took = c.Head
}

// noteClass records what the response to the latest call means, and whether the client gets it as it arrives.
func (r *Request) noteClass(class string, relayed bool) {
	c := &r.Record.Calls[len(r.Record.Calls)-1]
	c.Result = class
	if !relayed {
		c.Took = time.Since(c.Began)
	}
}

// noteStreamError records that the response to the latest call, which was relayed, contains an error event: it is not a success
// (OBS-1).
func (r *Request) noteStreamError() {
	if c := &r.Record.Calls[len(r.Record.Calls)-1]; c.Result == family.Success.String() {
		c.Result = observe.ResultStreamError
	}
}
