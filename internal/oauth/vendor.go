// Package oauth speaks to the authorization servers of providers. It logs a person in (see [Client.Begin] and [Callback]),
// turns a refresh token into a [Grant], and says what went wrong in types; it keeps nothing, retries nothing, opens no
// browser and knows no files: whoever holds the credential does. All of it may be used concurrently.
package oauth

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"shunt/internal/hosts"
)

// Vendor is what a provider's authorization server expects of its clients.
type Vendor struct {
	AuthorizeURL    string // where a person allows a login
	AuthorizeURLEnv string // the environment variable that overrides AuthorizeURL
	TokenURL        string
	TokenURLEnv     string // the environment variable that overrides TokenURL
	ManualRedirect  string // the vendor's page that shows the code to the person (LOG-3)
	ClientID        string
	Scope           string
	SetupScope      string        // of a setup token (LOG-4)
	SetupLifetime   time.Duration // of a setup token (LOG-4)

	// AuthorizeQuery holds what AuthorizeURL needs besides the parameters of OAuth 2 with PKCE.
	AuthorizeQuery map[string]string

	// SplitCode takes apart what the vendor's page gives a person to paste (LOG-3).
	SplitCode func(pasted string) (code, state string, ok bool)

	// Encode returns the body of a request to the token endpoint, and its media type. The fields have the names of OAuth 2:
	// those of a refresh (TOK-3) or, with the grant type "authorization_code", of an exchange (LOG-3, LOG-4).
	Encode func(fields map[string]any) (body []byte, mediaType string, err error)

	// Owner returns whose tokens a response of the token endpoint holds, as far as it says so.
	Owner func(response map[string]json.RawMessage) Owner
}

// JSON is a [Vendor.Encode] for fields in a JSON object.
func JSON(fields map[string]any) (body []byte, mediaType string, err error) {
	body, err = json.Marshal(fields)
	return body, "application/json", err
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
