// Package family defines a family of accounts: a kind of account with a provider of its own. A [Family] is a value that says
// how a request to that provider is authenticated, what its responses mean, which quota it reports and how to log in.
// Everything else is code that all families share.
//
// A Family does no I/O of its own and is read by any number of goroutines: nobody changes one after its package has declared it.
package family

// Family is a kind of account.
type Family struct {
	// Name names the family in identities, in the state file, in the account store and in `shunt login NAME`.
	Name string
	// Auth is the value of auth in the configuration that makes a provider a pool of such accounts.
	Auth string
	// Hosts are the domains that may receive a token of such an account, with their subdomains (CFG-41).
	Hosts []string
}
