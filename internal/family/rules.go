package family

import (
	"net/http"
	"time"

	"shunt/internal/pool"
	"shunt/internal/wire"
)

// Class is what an upstream's response, or the lack of one, means for the request and for the account.
type Class uint8

// The classes.
const (
	Success             Class = iota // 2xx
	Relayed                          // a response about the request, which the client gets
	ScopeRejected                    // the window of the request's scope is used up, and no other
	Rejected                         // a quota window is used up
	Throttled                        // a 429 that names no window
	StreamThrottled                  // a stream that begins with such an error, and is not worth a wait (FAM-7)
	NotIncluded                      // the account's plan does not include the service
	PaymentRequired                  // a 402 about the account
	Unauthorized                     // a 401 about the credential: its error is an authentication error, or it has none
	RequestUnauthorized              // a 401 with any other error: about the request, so the token is not refreshed
	CredentialRefused                // a 403 about the credential
	Overloaded                       // 529, or any other response that says the same
	ServerError                      // any other 5xx
	ForeignReasoning                 // a 400 about reasoning of earlier turns, which another account wrote
	Challenged                       // a web page of the provider's front proxy in place of a response
	Unreachable                      // the connection failed before any part of a response
	Unreadable                       // it failed in the middle of a response's head, or what came is not HTTP
	HostDown                         // there was no connection
	Unresolved                       // there is no usable credential
	LoginNeeded                      // and there will be none until a person logs in

	Classes = iota // how many there are
)

var classNames = [Classes]string{
	Success: "success", Relayed: "passed", ScopeRejected: "scope_rejected", Rejected: "rejected", Throttled: "throttled",
	StreamThrottled: "throttled_stream", NotIncluded: "not_included", PaymentRequired: "payment_required",
	Unauthorized: "unauthorized", RequestUnauthorized: "request_unauthorized", CredentialRefused: "credential_refused",
	Overloaded: "overloaded", ServerError: "server_error", ForeignReasoning: "foreign_reasoning", Challenged: "challenged", Unreachable: "unreachable",
	Unreadable: "unreadable", HostDown: "host_down", Unresolved: "unresolved", LoginNeeded: "login_needed",
}

// String returns the class as logs and metrics name it; see also [Class.In].
func (c Class) String() string { return classNames[c] }

// IsQuota reports whether a quota window is used up.
func (c Class) IsQuota() bool { return c == Rejected || c == ScopeRejected }

// status returns the status that a stream of status 200 counts as if it begins with an error of the class.
func (c Class) status() int {
	switch c {
	case Rejected, ScopeRejected, Throttled, StreamThrottled, NotIncluded:
		return http.StatusTooManyRequests
	case Overloaded:
		return statusOverloaded
	}
	return http.StatusInternalServerError
}

// Step is what the attempt loop does next.
type Step uint8

// The steps.
const (
	Relay        Step = iota // the client gets this response
	NextAccount              // another account gets the request
	ResendOnce               // the same account once more, then the next
	WaitOrMove               // the same account after a short wait, or another for this request only
	RefreshFirst             // the same account with a new token, then the next
	CutReasoning             // the same account without the reasoning of earlier turns if it is new to the conversation, else Relay
)

// Cooldown is how long an account cools down: retry-after between Least and Most, or Otherwise where the response does not
// say. With Most 0, no response may change it.
type Cooldown struct{ Otherwise, Least, Most time.Duration }

// Fixed is a cooldown that no response may change.
func Fixed(d time.Duration) Cooldown { return Cooldown{Otherwise: d} }

// For returns the cooldown after a response with this header; 0 is none.
func (c Cooldown) For(h http.Header, now time.Time) time.Duration {
	if c.Most > 0 {
		if after, ok := wire.RetryAfter(h, now); ok {
			return min(max(after, c.Least), c.Most)
		}
	}
	return c.Otherwise
}

// Rule is what a response of one class leads to.
type Rule struct {
	Event    pool.Event
	Cooldown Cooldown
	Then     Step
	// Fault is set if the service or the request may be at fault: two accounts are tried at most (FO-0a).
	Fault bool
	// MessagesOnly is set if the rule's event and cooldown are for messages only: in response to a count of tokens, the class
	// says nothing about the account (RTE-4).
	MessagesOnly bool
}

// Rules are the rules by class (5-failover).
type Rules [Classes]Rule

// With returns the rules with another one for a class.
func (r Rules) With(c Class, rule Rule) Rules {
	r[c] = rule
	return r
}

// WithCooldown returns the rules with another cooldown for a class.
func (r Rules) WithCooldown(c Class, cooldown Cooldown) Rules {
	r[c].Cooldown = cooldown
	return r
}

// Standard are the rules of a family that has none of its own.
var Standard = Rules{
	Success:             {Event: pool.Success, Then: Relay},
	Relayed:             {Then: Relay},
	ScopeRejected:       {Event: pool.ScopeRejected, Cooldown: Cooldown{Otherwise: 60 * time.Second, Least: time.Second, Most: time.Hour}, Then: NextAccount, MessagesOnly: true},
	Rejected:            {Event: pool.Rejected, Cooldown: Cooldown{Otherwise: 60 * time.Second, Least: time.Second, Most: time.Hour}, Then: NextAccount, MessagesOnly: true},
	Throttled:           {Event: pool.Throttled, Cooldown: Cooldown{Least: time.Second, Most: 300 * time.Second}, Then: WaitOrMove, MessagesOnly: true},
	StreamThrottled:     {Event: pool.Throttled, Cooldown: Cooldown{Least: time.Second, Most: 300 * time.Second}, Then: NextAccount, MessagesOnly: true},
	NotIncluded:         {Event: pool.NotIncluded, Cooldown: Fixed(time.Hour), Then: NextAccount, MessagesOnly: true},
	PaymentRequired:     {Event: pool.PaymentRequired, Cooldown: Fixed(300 * time.Second), Then: NextAccount},
	Unauthorized:        {Event: pool.Unauthorized, Cooldown: Fixed(300 * time.Second), Then: RefreshFirst},
	RequestUnauthorized: {Then: NextAccount, Fault: true},
	CredentialRefused:   {Event: pool.Forbidden, Cooldown: Fixed(300 * time.Second), Then: NextAccount},
	Overloaded:          {Event: pool.Overloaded, Cooldown: Fixed(5 * time.Second), Then: NextAccount, Fault: true, MessagesOnly: true},
	ServerError:         {Event: pool.ServerError, Cooldown: Fixed(30 * time.Second), Then: NextAccount, Fault: true, MessagesOnly: true},
	ForeignReasoning:    {Then: CutReasoning},
	Challenged:          {Event: pool.ServerError, Cooldown: Fixed(30 * time.Second), Then: NextAccount, Fault: true, MessagesOnly: true},
	Unreachable:         {Event: pool.Transport, Cooldown: Fixed(30 * time.Second), Then: ResendOnce, Fault: true},
	Unreadable:          {Event: pool.ServerError, Cooldown: Fixed(30 * time.Second), Then: NextAccount, Fault: true}, // it may be working on the request
	HostDown:            {Event: pool.HostDown, Cooldown: Fixed(5 * time.Second), Then: ResendOnce, Fault: true},
	Unresolved:          {Event: pool.Unresolved, Cooldown: Fixed(300 * time.Second), Then: NextAccount},
	LoginNeeded:         {Event: pool.LoginNeeded, Cooldown: Fixed(300 * time.Second), Then: NextAccount},
}
