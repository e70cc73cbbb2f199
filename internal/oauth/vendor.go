// Package oauth has the flows of a login at a provider's authorization server: PKCE with a callback or a pasted code (see
// [Client.Begin] and [Callback]), and the refresh. A [Vendor] describes the server, and a [Format] the credentials files
// of its accounts. The package stores nothing, retries nothing, opens no browser and accesses no files. Everything in it
// is safe for concurrent use.
package oauth

import (
	"encoding/json"
	"fmt"
	"net/http"
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

	// Device is the login by device code. Nil: the vendor has none.
	Device *DeviceFlow

	// CallbackPort is the port of this machine to which the browser takes the code, and CallbackPath the path there, if the vendor
	// accepts no other (GPT-9). 0: any port.
	CallbackPort int
	CallbackPath string // optional: /callback

	// OriginEnv is the environment variable with an origin on a loopback host that replaces that of every URL, but not its path
	// (KIMI-1, GPT-9). TokenURLEnv and AuthorizeURLEnv take precedence. Optional: none.
	OriginEnv string

	// RefreshWithoutScope is set if a refresh does not name the scope (GPT-3).
	RefreshWithoutScope bool

	// PartialRefresh is set if the response to a refresh may lack an access token; the old one then remains (GPT-3).
	PartialRefresh bool

	// Header returns what requests to the token endpoint have in their header besides what all have, given the ID of the device
	// that the login is bound to (KIMI-2). Nil: nothing, and logins are not bound to a device.
	Header func(deviceID string) http.Header

	// Expires returns when an access token expires according to the token itself, or the zero time if it does not say (GPT-2).
	// Nil: the responses say.
	Expires func(accessToken string) time.Time

	// ErrorCode returns the code in an error response of the token endpoint. Nil: it is the value of error.
	ErrorCode func(response map[string]json.RawMessage) string

	// Rejects reports whether a response of status 400, 401 or 403 means that the provider will never accept the refresh token
	// again (TOK-7, TOK-7a). Nil: the code invalid_grant means that.
	Rejects func(status int, code string) bool

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
	if v.ErrorCode == nil {
		v.ErrorCode = func(response map[string]json.RawMessage) string { return text(response["error"]) }
	}
	if v.Rejects == nil {
		v.Rejects = func(_ int, code string) bool { return code == invalidGrant }
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

// Form is a [Vendor.Encode] for fields in the form of a web page.
func Form(fields map[string]any) (body []byte, mediaType string, err error) {
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, fmt.Sprint(value))
	}
	return []byte(form.Encode()), "application/x-www-form-urlencoded", nil
}

// Overridden returns the vendor with the URLs that the environment sets, and a warning for each that is ignored. TokenURL
// must be https, or http to a loopback host (TOK-3); AuthorizeURL and an origin must be on a loopback host (LOG-2, KIMI-1).
func (v Vendor) Overridden(getenv func(string) string) (vendor Vendor, warnings []string) {
	// A warning does not quote the URL, which may contain a password.
	if override := getenv(v.OriginEnv); override != "" {
		if u, ok := parseHTTP(override); ok && hosts.IsLoopback(u.Hostname()) {
			v.TokenURL, v.AuthorizeURL = withOrigin(v.TokenURL, u), withOrigin(v.AuthorizeURL, u)
			if v.Device != nil {
				device := *v.Device
				for _, address := range []*string{&device.CodeURL, &device.PollURL, &device.Page, &device.Redirect} {
					*address = withOrigin(*address, u)
				}
				v.Device = &device
			}
		} else {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: it is not an http or https URL of a loopback host", v.OriginEnv))
		}
	}
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

// withOrigin returns an address at another origin. An empty one stays empty.
func withOrigin(address string, origin *url.URL) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return address
	}
	u.Scheme, u.Host = origin.Scheme, origin.Host
	return u.String()
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
