package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"shunt/internal/config/schema"
	"shunt/internal/hosts"
)

// baseURL is where a provider is reached.
var baseURL = schema.Text(`an http or https URL, such as "https://api.anthropic.com"`, parseBaseURL)

// parseBaseURL returns a URL with its host in lower case (CFG-41). Its errors do not quote the URL, which can hold a password.
func parseBaseURL(text string, _ schema.Base) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, schema.ErrUnexpected
	}
	if u.User != nil {
		return nil, errors.New("must not contain a user name or password; use auth to authenticate requests")
	}
	if strings.ContainsAny(text, "?#") {
		return nil, errors.New("must not contain a query or fragment; those of each request are appended")
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
}

// portOf returns the port of a base URL, or that of its scheme if it has none.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return strings.TrimLeft(port, "0")
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
