// Package family defines a family of accounts: a kind of account with a provider of its own. A [Family] is a value that says
// how a request to that provider is authenticated, what its responses mean, which quota it reports and how to log in.
// Everything else is code that all families share.
//
// A Family does no I/O of its own and is read by any number of goroutines: nobody changes one after its package has declared it.
package family

import (
	"cmp"
	"net/http"

	"shunt/internal/dialect"
	"shunt/internal/oauth"
	"shunt/internal/quota"
)

// Family is a kind of account. The zero value of an optional field stands for what its comment says.
type Family struct {
	// Name names the family in identities and for people who write a configuration: a-z and 0-9.
	Name string
	// Store names the family in the account store, in the state file and in `shunt login STORE`: a-z and 0-9. Optional: Name. See
	// [Family.StoreName].
	Store string
	// Title is the name for people, as in "log in to Claude".
	Title string
	// Kind is the value of kind in the configuration of its providers.
	Kind string
	// DefinesKind is set in the one family of each Kind that also says what the responses of that Kind's providers without
	// accounts mean.
	DefinesKind bool
	// Auth is the value of auth in the configuration that makes a provider a pool of such accounts.
	Auth string
	// BaseURL is the base URL of the provider in the preset for a pool of all accounts, whose name is Provider. Optional: there is
	// no such preset.
	BaseURL string
	// Provider is what a configuration usually calls the provider. Optional: Name.
	Provider string
	// Hosts are the domains that may receive a token of such an account, with their subdomains, in lower case (CFG-41).
	Hosts []string

	// Dialect is what the provider speaks.
	Dialect dialect.Outbound
	// Path is where requests in that dialect go, below the base URL. Optional: where the client sent them (WIRE-4).
	Path string
	// StreamOnly is set if the provider serves streams only: a client that wants one document gets it assembled (DIA-3).
	StreamOnly bool
	// Accepts is what the provider accepts of its dialect (FAM-3).
	Accepts dialect.Accepts
	// Translated are lines that a translated request has in its header besides those of its dialect (FAM-5). Optional: none.
	Translated []dialect.Field
	// SessionHeaders are lines of a translated request, by their names in canonical form, that have a hash of the session as
	// their value (GPT-5). Optional: none.
	SessionHeaders []string
	// AccountHeaders appends the lines that a request with an account's token has in its header besides the token. They replace
	// the client's of the same names. Optional: none.
	AccountHeaders func(dst []HeaderField, a AccountInfo) []HeaderField
	// Route is where the provider says to which of its hosts an account's requests belong (GPT-4b). Optional: all belong to the
	// base URL.
	Route *RouteEndpoint
	// StickyHeader is a header of responses, in canonical form, that clients send back and that only the account which sent it
	// understands (GPT-11). Optional: none.
	StickyHeader string
	// ModelHeader is a header of responses, in canonical form, that names the model (GPT-11). Optional: none.
	ModelHeader string
	// HeaderItems are what a request with a token must have in its header (WIRE-1). Optional: nothing but the token.
	HeaderItems []HeaderItem

	// Windows are the quota windows that the provider reports, at most [quota.MaxWindows]. With any, Quota or Usage reads them.
	// Optional: none.
	Windows *quota.Table
	// ScopeOf returns the scope of requests for an upstream model (SEL-4). Optional: no model has windows of its own. See
	// [Family.Scope].
	ScopeOf func(model string) quota.Scope
	// Quota returns what the header of a response reports about the account's quota (QUO-1). [QuotaHeaders.Reader] returns
	// such a function. Optional: nothing. See [Family.ReadQuota].
	Quota func(h http.Header) quota.Signal
	// QuotaEvent returns what an event of a stream reports about the account's quota, given the event's data; ok is false for
	// almost every event (GPT-6). Optional: no event does.
	QuotaEvent func(data []byte) (_ quota.Signal, ok bool)
	// Usage is where the provider reports the quota of an account on request (QUO-20). Optional: nowhere.
	Usage *UsageEndpoint

	// Rules are what the responses of each class lead to (5-failover): [Standard], or that with other rules.
	Rules Rules
	// Statuses are the classes of statuses that mean something else than in other families. Optional: none.
	Statuses map[int]Class
	// Refine returns what a response that is not a success means, if the family knows better than the code that all families
	// share; otherwise ok is false. It also judges the failure of a stream. Optional: it never does.
	Refine func(r *Response) (_ Verdict, ok bool)
	// DelaysInBody is set if the bodies of 429s and 503s, rather than their header, say when the provider serves again (GEM-2).
	DelaysInBody bool
	// RefusesCredential reports whether the error of a 403 rejects the credential rather than the request. Optional: a 403 is
	// about the request.
	RefusesCredential func(dialect.Error) bool
	// BindsReasoning reports whether a model reads the reasoning of earlier turns only on the account that wrote it (SEL-31).
	// Optional: no model. See [Family.LosesReasoning].
	BindsReasoning func(model string) bool

	// Vendor is the authorization server where a person logs in. Without an AuthorizeURL, nobody can log in through shunt;
	// without a SetupLifetime, there are no setup tokens.
	Vendor oauth.Vendor
	// Credentials is the format of the credentials files (ACC-1).
	Credentials oauth.Format
	// Fixed are the endpoints for the provider's own program, besides inference, at which shunt responds by itself (GPT-10).
	// Optional: none.
	Fixed []FixedEndpoint
	// ModelList is the list of models in the form of the provider's own program (GPT-10). Optional: it reads the dialect's.
	ModelList *ModelList
	// Program is the provider's own program, whose login can be copied (LOG-5). Optional: no login can be copied.
	Program *Program
}

// StoreName returns the name of the family in the account store, in the state file and in `shunt login`.
func (f *Family) StoreName() string { return cmp.Or(f.Store, f.Name) }

// Scope returns the scope of requests for an upstream model (SEL-4).
func (f *Family) Scope(model string) quota.Scope {
	if f.ScopeOf == nil {
		return ""
	}
	return f.ScopeOf(model)
}

// ReadQuota returns what the header of a response reports about the account's quota (QUO-1).
func (f *Family) ReadQuota(h http.Header) quota.Signal {
	if f.Quota == nil {
		return quota.Signal{}
	}
	return f.Quota(h)
}

// LosesReasoning reports whether a model loses the reasoning of earlier turns on another account (SEL-31).
func (f *Family) LosesReasoning(model string) bool {
	return f.BindsReasoning != nil && f.BindsReasoning(model)
}

// Program is a program of the provider that keeps a login on this machine.
type Program struct {
	Name string // for people
	// FindOrigin returns where the program keeps its login. The files need not exist (LOG-5).
	FindOrigin func(getenv func(string) string) (Origin, error)
}

// Origin is a login of another program that can be copied (LOG-5).
type Origin struct {
	Credentials string                      // path of the file with the tokens
	Profile     string                      // path of the file that names the account
	Owner       func() (oauth.Owner, error) // reads it
}

// AccountInfo is what a request may tell the provider about the account whose token it has. A field that is not known is empty.
type AccountInfo struct {
	ID       string // as the provider knows the account
	DeviceID string // of this installation
}

// HeaderField is a line of a header. The name is in canonical form.
type HeaderField struct{ Name, Value string }

// HeaderItem is an item of a header that is a list. The client's own items stay.
type HeaderItem struct{ Name, Item string }

// RouteEndpoint is an endpoint that says where the requests of the account belong whose token a GET request bears.
type RouteEndpoint struct {
	Path   string // below the provider's base URL
	Header string // of requests, in canonical form, with the override of the account's route
	// Parse reads the response's body.
	Parse func(body []byte, a AccountInfo) (Route, error)
}

// Route is where the requests of an account belong. The zero Route is the base URL.
type Route struct {
	Origin   string // replaces scheme, host and port of the base URL; empty: they stay
	Override string // for [RouteEndpoint.Header]; empty: requests have no such header
}

// FixedEndpoint is an endpoint at which shunt responds without its provider, and with nothing that the request does not contain.
type FixedEndpoint struct {
	Method  string
	Paths   []string                               // where clients send the request
	Respond func(dst []byte, h http.Header) []byte // appends the response's body, which is JSON, given the request's header
}

// ModelList is where the provider lists models in the form of its own program.
type ModelList struct {
	Path        string   // below the provider's base URL
	Query       string   // the parameter in a URL whose presence requests this form
	ClientPaths []string // where clients request it, besides the path of the general list
}

// UsageEndpoint is an endpoint that reports the quota of the account whose token a GET request bears (QUO-21).
type UsageEndpoint struct {
	Path   string      // below the provider's base URL
	Header http.Header // of the request, besides its token
	Scope  string      // the scope that a login needs for it, for people; may be empty
	// Parse reads the response's body (QUO-22).
	Parse func(body []byte) (quota.Usage, error)
	// Append appends the body of such a response, for clients that poll shunt at ClientPaths as they would the provider (USE-2,
	// GPT-10). The header is that of the request. Optional: shunt has no such endpoint.
	Append      func(dst []byte, h http.Header, u quota.Usage) []byte
	ClientPaths []string
}
