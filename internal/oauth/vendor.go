// Package oauth speaks to the authorization servers of providers. It logs a person in (see [Client.Begin] and [Callback]),
// turns a refresh token into a [Grant], and says what went wrong in types; it keeps nothing, retries nothing, opens no
// browser and knows no files: whoever holds the credential does. All of it may be used concurrently.
package oauth

import (
	"fmt"
	"net/url"

	"shunt/internal/hosts"
)

// Vendor is what a provider's authorization server expects of its clients.
type Vendor struct {
	AuthorizeURL    string // where a person allows a login
	AuthorizeURLEnv string // the environment variable that overrides AuthorizeURL
	TokenURL        string
	TokenURLEnv     string // the environment variable that overrides TokenURL
	ManualRedirect  string // the page of the vendor's that shows the code instead of sending it anywhere (LOG-3)
	ClientID        string
	Scope           string
	SetupScope      string // of a setup token (LOG-4)
}

// Claude is Anthropic's authorization server for subscriptions (LOG-2, LOG-3, LOG-4, TOK-3).
var Claude = Vendor{
	AuthorizeURL:    "https://claude.com/cai/oauth/authorize",
	AuthorizeURLEnv: "SHUNT_CLAUDE_AUTHORIZE_URL",
	TokenURL:        "https://platform.claude.com/v1/oauth/token",
	TokenURLEnv:     "SHUNT_CLAUDE_TOKEN_URL",
	ManualRedirect:  "https://platform.claude.com/oauth/code/callback",
	ClientID:        "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
	Scope:           "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload",
	SetupScope:      "user:inference",
}

// Overridden returns the vendor with the endpoints that the environment names, and a warning for each that is not to be
// trusted. Tokens go to an https URL, or an http one of a loopback host (TOK-3); a person is sent to a loopback host only
// (LOG-2).
func (v Vendor) Overridden(getenv func(string) string) (vendor Vendor, warnings []string) {
	// The values stay out of the texts, because they may hold a password.
	if override := getenv(v.TokenURLEnv); override != "" {
		if u, ok := parseHTTP(override); ok && (u.Scheme == "https" || hosts.IsLoopback(u.Hostname())) {
			v.TokenURL = u.String()
		} else {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: it is neither an https URL nor an http URL of a loopback host", v.TokenURLEnv))
		}
	}
	if override := getenv(v.AuthorizeURLEnv); override != "" {
		if u, ok := parseHTTP(override); ok && hosts.IsLoopback(u.Hostname()) {
			v.AuthorizeURL = u.String()
		} else {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: it is no http or https URL of a loopback host", v.AuthorizeURLEnv))
		}
	}
	return v, warnings
}

// parseHTTP reads an http or https URL. Its host comes back in lower case (CFG-41).
func parseHTTP(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, false
	}
	u.Host = hosts.Lower(u.Host)
	return u, true
}
