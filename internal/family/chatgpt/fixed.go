package chatgpt

import (
	"encoding/json"
	"net/http"

	"shunt/internal/family"
)

// accountID is the header in which Codex names the account of a request.
const accountID = "Chatgpt-Account-Id"

// usagePaths are where Codex polls its usage, by the form of its base URL.
var usagePaths = []string{"/backend-api/wham/usage", "/wham/usage", "/api/codex/usage"}

// fixed are the endpoints for what Codex wants to know about its account, which is shunt, and what it reports about its use
// (GPT-10).
var fixed = []family.FixedEndpoint{
	{
		Method:  http.MethodGet,
		Paths:   []string{"/backend-api/wham/accounts/check", "/wham/accounts/check", "/api/codex/accounts/check"},
		Respond: appendAccounts,
	},
	{
		Method:  http.MethodPost,
		Paths:   below("/analytics-events/events"),
		Respond: func(dst []byte, _ http.Header) []byte { return append(dst, "{}"...) },
	},
}

// below returns a path below each of the base URLs that Codex may be configured with.
func below(path string) []string { return []string{"/backend-api/codex" + path, "/codex" + path, path} }

// appendAccounts writes the list of accounts of a client of shunt. The requests of its account belong to shunt.
func appendAccounts(dst []byte, h http.Header) []byte {
	body, err := json.Marshal(accountsJSON{[]accountJSON{{ID: h.Get(accountID), Origin: noConstraint, Override: noConstraint}}})
	if err != nil {
		panic(err) // strings only
	}
	return append(dst, body...)
}
