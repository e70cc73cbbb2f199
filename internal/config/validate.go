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
	l.validateDefaultProvider()
	for i := range l.config.Providers {
		l.validateProvider(&l.config.Providers[i])
	}
}

func (l *loader) validateDefaultProvider() {
	at := spot{table: "server", key: "default_provider"}
	name := l.config.Server.DefaultProvider
	if _, ok := l.config.Provider(name); ok || l.failed(at) {
		return
	}
	names := providerNames(l.config)
	message := "names a provider that does not exist; "
	if near, ok := nearest(name, names); ok {
		message += fmt.Sprintf("did you mean %q?", near)
	} else {
		message += "there is " + strings.Join(names, ", ")
	}
	l.fail(at, message)
}

func (l *loader) validateProvider(p *Provider) {
	key := func(name string) spot { return providerSpot(p, name) }
	authKnown := !l.failed(key("auth"))

	switch at := key("base_url"); {
	case l.failed(at):
	case p.BaseURL == nil:
		l.fail(at, `is missing; write where the provider is reached, such as base_url = "https://api.example.com"`)
	case p.Pool() && authKnown:
		if err := checkPoolURL(p.BaseURL); err != nil {
			l.fail(at, err.Error())
		}
	}
	if p.Auth == APIKey && authKnown && !l.failed(key("api_key_env")) {
		l.resolveAPIKey(p, key("api_key_env"), key("auth"))
	}
	if at := key("accounts"); l.written(at) && !p.Pool() && authKnown {
		l.report(at, `belongs to a pool; write auth = "claude_oauth" or remove it`)
	}
	l.validateAccounts(p)
}

// resolveAPIKey reads the variable that holds the key. Its errors show a variable's name only if it looks like one, since
// it may be the key itself, written in the wrong place.
func (l *loader) resolveAPIKey(p *Provider, at, auth spot) {
	if p.APIKeyEnv == "" {
		l.report(auth, `"api_key" needs api_key_env, the name of the environment variable that holds the key`)
		return
	}
	name := "the environment variable that it names"
	if conventionalName.MatchString(p.APIKeyEnv) {
		name = "the environment variable " + p.APIKeyEnv
	}
	value, ok := l.env[p.APIKeyEnv]
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		l.fail(at, name+" is not set; set it to the key or name another")
	case value == "":
		l.fail(at, name+" is empty; set it to the key or name another")
	case !headerValue.MatchString(value):
		l.fail(at, name+" holds characters that no key has, such as a space or a line break")
	default:
		p.APIKey = secret.New(value)
	}
}

var (
	conventionalName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	headerValue      = regexp.MustCompile(`^[!-~]+$`)
)

func (l *loader) validateAccounts(p *Provider) {
	used := map[string]int{}
	for i := range p.Accounts {
		a := &p.Accounts[i]
		key := func(name string) spot { return accountSpot(p, i, name) }
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

func providerSpot(p *Provider, key string) spot {
	return spot{table: "providers." + segment(p.Name), key: key}
}

func accountSpot(p *Provider, index int, key string) spot {
	return spot{providerSpot(p, "accounts").String(), index + 1, key}
}
