package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"shunt/internal/secret"
)

// validate reports what is wrong between keys. Of a key that has failed by itself it concludes nothing.
func (l *loader) validate() {
	if l.config.ordered {
		l.validateUpstreams()
	}
	for i := range l.config.Providers {
		l.validateProvider(i)
	}
	l.validateDefaultProvider()
	l.validateModels()
	l.validateRoutes()
	l.validateAccess()
}

func (l *loader) validateDefaultProvider() {
	at := spot{table: "server"}.of("default_provider")
	name := l.config.Server.DefaultProvider
	if l.config.ordered && !l.written(at) && l.unknownProvider(name) != "" {
		l.report(at, fmt.Sprintf("is not set, and the default, %q, is none of the upstreams; name one", name))
		return
	}
	l.checkReference(at, name)
}

// checkReference reports a key that names a provider which does not exist.
func (l *loader) checkReference(at spot, name string) {
	if message := l.unknownProvider(name); message != "" && !l.failed(at) {
		l.fail(at, "names a provider that does not exist; "+message)
	}
}

// unknownProvider says what could be meant by a name that is no provider's; it is empty if the name is one's, or if not all
// names are known.
func (l *loader) unknownProvider(name string) string {
	if l.failed(spot{key: "upstreams"}) || l.failed(spot{key: "providers"}) {
		return ""
	}
	var names []string
	for i, p := range l.config.Providers {
		if p.Name == name || l.config.ordered && l.failed(l.settings(i).name) {
			return ""
		}
		names = append(names, p.Name)
	}
	if near, ok := nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "there is " + strings.Join(names, ", ")
}

func (l *loader) validateProvider(index int) {
	p, s := &l.config.Providers[index], l.settings(index)
	authKnown := l.authKnown(s)

	switch {
	case l.failed(s.baseURL):
	case p.BaseURL == nil && !l.failed(s.preset):
		l.fail(s.baseURL, `is missing; write where the provider is reached, such as base_url = "https://api.example.com"`)
	case p.BaseURL != nil && p.Pool() && authKnown:
		if err := checkPoolURL(p.BaseURL); err != nil {
			l.fail(s.baseURL, err.Error())
		}
	}
	if p.Auth == APIKey && authKnown && !l.failed(s.keyEnv) {
		l.resolveAPIKey(p, s)
	}
	if l.written(s.accounts) && !p.Pool() && authKnown {
		l.report(s.accounts, fmt.Sprintf(`belongs to a pool; write %s = "claude_oauth" or remove it`, s.auth.key))
	}
	l.validateAccounts(index)
}

// variableTitle names a variable only if it looks like one, since it may be the secret itself, written in the wrong place.
func variableTitle(name string) string {
	if conventionalName.MatchString(name) {
		return "the environment variable " + name
	}
	return "the environment variable that it names"
}

// resolveAPIKey reads the variable that holds the key.
func (l *loader) resolveAPIKey(p *Provider, s settings) {
	if p.APIKeyEnv == "" {
		l.report(s.auth, fmt.Sprintf(`"api_key" needs %s, the name of the environment variable that holds the key`, s.keyEnv.key))
		return
	}
	name := variableTitle(p.APIKeyEnv)
	value, ok := l.env[p.APIKeyEnv]
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		l.fail(s.keyEnv, name+" is not set; set it to the key or name another")
	case value == "":
		l.fail(s.keyEnv, name+" is empty; set it to the key or name another")
	case !headerValue.MatchString(value):
		l.fail(s.keyEnv, name+" holds characters that no key has, such as a space or a line break")
	default:
		p.APIKey = secret.New(value)
	}
}

var (
	conventionalName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	headerValue      = regexp.MustCompile(`^[!-~]+$`)
)

func (l *loader) validateAccounts(provider int) {
	if s := l.settings(provider); l.failed(s.accounts) || l.config.ordered && l.written(s.account) {
		return // of account, all that can be wrong is its name
	}
	used := map[string]int{}
	for i, a := range l.config.Providers[provider].Accounts {
		key := func(name string) spot { return l.accountSpot(provider, i, name) }
		if at := key("name"); !l.failed(at) {
			first, dup := used[a.Name]
			switch {
			case a.Name == "":
				l.fail(at, `is missing; write name = "..." with the characters a-z, 0-9 and -`)
			case dup:
				l.fail(at, "is also the name of the account in line "+strconv.Itoa(first)+"; names are unique in a provider")
			default:
				used[a.Name] = l.places[key("")].line
			}
		}
		if l.written(key("credentials")) && l.written(key("token_env")) {
			l.report(key("token_env"), "cannot stand beside credentials; an account has one credential, so remove one of the two")
		}
	}
}
