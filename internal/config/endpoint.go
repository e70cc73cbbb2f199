package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"shunt/internal/hosts"
)

// baseURL is where a provider is reached, with its host in lower case (CFG-41). Its errors quote nothing of it, since a URL can hold a password.
var baseURL = kind[*url.URL]{textShape, `an http or https URL, such as "https://api.anthropic.com"`, func(n *node, _ base) (*url.URL, error) {
	u, err := url.Parse(n.text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errUnexpected
	}
	if u.User != nil {
		return nil, errors.New("must not hold a user name or password; say with auth how requests are authenticated")
	}
	if strings.ContainsAny(n.text, "?#") {
		return nil, errors.New("must not hold a query or fragment; those of each request are appended")
	}
	if strings.HasSuffix(u.Host, ":") {
		return nil, errors.New("has a colon without a port; write the port or leave the colon out")
	}
	if port := u.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return nil, errors.New("must have a port from 1 to 65535")
		}
	}
	u.Host = hosts.Lower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}}

// portOf is the port of a base URL, that of its scheme if it has none.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return strings.TrimLeft(port, "0")
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// checkPoolURL keeps the credentials of accounts with the party that issued them (CFG-41): https to anthropic.com or a
// subdomain of it, or a loopback host, where a mock or a debugging proxy may listen without TLS.
func checkPoolURL(u *url.URL) error {
	host := u.Hostname()
	switch {
	case hosts.IsLoopback(host):
		return nil
	case !isAnthropic(host):
		return errors.New("must name anthropic.com, a subdomain of it or a loopback host, because auth = \"claude_oauth\" sends account credentials there")
	case u.Scheme != "https":
		return errors.New("must be https, because auth = \"claude_oauth\" sends account credentials there")
	}
	return nil
}

// isAnthropic wants every label to be plain, so that nothing a resolver or proxy may read differently gets through.
func isAnthropic(host string) bool {
	return hostLabels.MatchString(host) && (host == "anthropic.com" || strings.HasSuffix(host, ".anthropic.com"))
}
