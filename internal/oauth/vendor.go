// Package oauth has the flows of a login at a provider's authorization server: PKCE with a callback or a pasted code (see
// [Client.Begin] and [Callback]), and the refresh. A [Vendor] describes the server, and a [Format] the credentials files
// of its accounts. The package stores nothing, retries nothing, opens no browser and accesses no files. Everything in it
// is safe for concurrent use.
package oauth

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"shunt/internal/hosts"
)

// Vendor describes a provider's authorization server. It is read-only.
type Vendor struct {
	AuthorizeURL    string // where a person allows a login
	AuthorizeURLEnv string // the environment variable that overrides AuthorizeURL
	TokenURL        string
	TokenURLEnv     string // the environment variable that overrides TokenURL
	ManualRedirect  string // the vendor's page that shows the code to the person (LOG-3)
	ClientID        string
	Scope           string
	SetupScope      string        // of a setup token (LOG-4)
	SetupLifetime   time.Duration // of a setup token (LOG-4); 0: the vendor issues none

	// AuthorizeQuery holds what AuthorizeURL needs besides the parameters of OAuth 2 with PKCE.
	AuthorizeQuery map[string]string

	// SplitCode splits what ManualRedirect gives a person to paste into the code and the state (LOG-3). Nil: the form is
	// CODE#STATE.
	SplitCode func(pasted string) (code, state string, ok bool)

	// Encode returns the body of a request to the token endpoint, and its media type. The fields have the names of OAuth 2:
	// those of a refresh (TOK-3) or, with the grant type "authorization_code", of an exchange (LOG-3, LOG-4). Nil: [JSON].
	Encode func(fields map[string]any) (body []byte, mediaType string, err error)

	// Owner returns the account in a response of the token endpoint. The fields that the response does not have are empty.
	// Nil: no response names the account.
	Owner func(response map[string]json.RawMessage) Owner
}

// withDefaults returns the vendor with all of its functions.
func (v Vendor) withDefaults() Vendor {
	if v.SplitCode == nil {
		v.SplitCode = splitAtHash
	}
	if v.Encode == nil {
		v.Encode = JSON
	}
	if v.Owner == nil {
		v.Owner = func(map[string]json.RawMessage) Owner { return Owner{} }
	}
	return v
}

func splitAtHash(pasted string) (code, state string, ok bool) {
	code, state, _ = strings.Cut(strings.TrimSpace(pasted), "#")
	return code, state, code != "" && state != ""
}

// JSON is a [Vendor.Encode] for fields in a JSON object.
func JSON(fields map[string]any) (body []byte, mediaType string, err error) {
	body, err = json.Marshal(fields)
	return body, "application/json", err
}

// Overridden returns the vendor with the URLs that the environment sets, and a warning for each that is ignored. TokenURL
// must be https, or http to a loopback host (TOK-3); AuthorizeURL must be on a loopback host (LOG-2).
func (v Vendor) Overridden(getenv func(string) string) (vendor Vendor, warnings []string) {
	// A warning does not quote the URL, which may contain a password.
	if override := getenv(v.TokenURLEnv); override != "" {
		if u, ok := parseHTTP(override); ok && hosts.Confidential(u) {
			v.TokenURL = u.String()
		} else {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: it is neither an https URL nor an http URL of a loopback host", v.TokenURLEnv))
		}
	}
	if override := getenv(v.AuthorizeURLEnv); override != "" {
		if u, ok := parseHTTP(override); ok && hosts.IsLoopback(u.Hostname()) {
			v.AuthorizeURL = u.String()
		} else {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: it is not an http or https URL of a loopback host", v.AuthorizeURLEnv))
		}
	}
	return v, warnings
}

// parseHTTP parses an http or https URL and converts its host to lower case (CFG-41).
func parseHTTP(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, false
	}
	u.Host = hosts.Lower(u.Host)
	return u, true
}
