// Package oauth speaks to the token endpoints of providers. It turns a refresh token into a [Grant] and says what went
// wrong in types; it keeps nothing, retries nothing and knows no files: whoever holds the credential does. All of it may
// be used concurrently.
package oauth

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Vendor is what a provider's authorization server expects of its clients.
type Vendor struct {
	TokenURL    string
	TokenURLEnv string // the environment variable that overrides TokenURL
	ClientID    string
	Scope       string
}

// Claude is Anthropic's authorization server for subscriptions (TOK-3).
var Claude = Vendor{
	TokenURL:    "https://platform.claude.com/v1/oauth/token",
	TokenURLEnv: "SHUNT_CLAUDE_TOKEN_URL",
	ClientID:    "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
	Scope:       "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload",
}

// Overridden returns the vendor with the endpoint that the environment names, and a warning if it names one that refresh
// tokens must not go to: anything but https, or http to a loopback host (TOK-3).
func (v Vendor) Overridden(getenv func(string) string) (vendor Vendor, warning string) {
	override := getenv(v.TokenURLEnv)
	if override == "" {
		return v, ""
	}
	u, err := url.Parse(override)
	if err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())) {
		v.TokenURL = override
		return v, ""
	}
	// The value stays out of the text, because it may hold a password.
	return v, fmt.Sprintf("%s is ignored: it is neither an https URL nor an http URL of a loopback host", v.TokenURLEnv)
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
