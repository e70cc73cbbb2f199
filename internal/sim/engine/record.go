package engine

import (
	"net/http"
	"time"
)

// Request is a request as the provider received it, with its outcome.
type Request struct {
	Seq      int64 // number of the request, from 0
	Received time.Time
	Conn     string // the client's address: the same for requests on the same connection
	Method   string
	Path     string
	Query    string
	Host     string
	Header   http.Header
	Raw      []byte // the body as it was sent
	Body     []byte // the body without its content coding

	Model   string // of a request for inference
	Stream  bool
	Account string // the account of its credential, even an expired one; empty if unknown
	Fault   string // name of the fault that hit it
	Status  int    // 0: no response was sent
	Outcome Outcome
}

// Outcome describes how a request ended.
type Outcome string

// The outcomes.
const (
	Running  Outcome = ""         // not ended yet
	Complete Outcome = "complete" // the response was sent to its end
	Canceled Outcome = "canceled" // the client went away
	Aborted  Outcome = "aborted"  // the provider ended the response early
)
