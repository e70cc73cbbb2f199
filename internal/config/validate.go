package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"shunt/internal/config/schema"
	"shunt/internal/secret"
)

// validate checks the keys against each other. It draws no conclusion from a key whose own value is wrong.
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
	at := schema.At("server").Of("default_provider")
	names := l.config.Server.DefaultProviders
	if l.config.ordered && !l.Written(at) && l.unknownProvider(names[0]) != "" {
		l.Report(at, fmt.Sprintf("is not set, and the default, %q, is not one of the upstreams; name one", names[0]))
	} else {
		l.checkReferences(at, names)
	}
	e := &l.config.Server.OpenAIEndpoint
	if in := schema.At("server.openai_endpoint").Of("provider"); e.Present && len(e.Providers) == 0 && !l.Failed(in) {
		l.Fail(in, `is missing; write provider = "...", the provider for models that no route names`)
	} else {
		l.checkReferences(in, e.Providers)
	}
	for _, m := range l.config.ModelMaps {
		if message := l.unknownProvider(m.Provider); message != "" {
			l.Report(schema.At("").Of("model_map").Table().Of(schema.Segment(m.Provider)), "is not a provider; "+message)
		}
	}
}

// checkReferences checks a list of names of providers.
func (l *loader) checkReferences(at schema.Spot, names []string) {
	for i, name := range names {
		if slices.Contains(names[:i], name) && !l.Failed(at) {
			l.Fail(at, fmt.Sprintf("names %q twice; remove one of them", name))
		}
		l.checkReference(at, name)
	}
}

// checkReference reports a key that names a provider which does not exist.
func (l *loader) checkReference(at schema.Spot, name string) {
	if message := l.unknownProvider(name); message != "" && !l.Failed(at) {
		l.Fail(at, "names a provider that does not exist; "+message)
	}
}

// unknownProvider returns a suggestion for a name that is not a provider's. It is empty if the name is a provider's, or if not
// all names are known.
func (l *loader) unknownProvider(name string) string {
	if l.Failed(schema.At("").Of("upstreams")) || l.Failed(schema.At("").Of("providers")) {
		return ""
	}
	var names []string
	for i, p := range l.config.Providers {
		if p.Name == name || l.config.ordered && l.Failed(l.settings(i).name) {
			return ""
		}
		names = append(names, p.Name)
	}
	if near, ok := schema.Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known: " + strings.Join(names, ", ")
}

func (l *loader) validateProvider(index int) {
	p, s := &l.config.Providers[index], l.settings(index)
	authKnown := l.authKnown(s)

	switch {
	case l.Failed(s.baseURL):
	case p.BaseURL == nil && !l.Failed(s.preset):
		l.Fail(s.baseURL, `is missing; write the URL of the provider, such as base_url = "https://api.example.com"`)
	case p.BaseURL != nil && p.Pool() && authKnown:
		l.validatePool(p, s)
	}
	if p.Auth == APIKey && authKnown && !l.Failed(s.keyEnv) {
		l.resolveAPIKey(p, s)
	}
	if l.Written(s.accounts) && !p.Pool() && authKnown {
		l.Report(s.accounts, "belongs to a pool; write "+l.families.mode(s.auth.Key(), "")+" or remove it")
	}
	l.validateAccounts(index)
	l.validateHeaders(p, s)
}

// validatePool checks that a pool has the protocol of its family and a host that may receive its tokens (CFG-41).
func (l *loader) validatePool(p *Provider, s settings) {
	family, _ := l.families.pool(p.Auth)
	if p.Kind != family.Kind && !l.Failed(s.kind) {
		l.Report(s.kind, fmt.Sprintf("must be %q, because %s = %q pools accounts of that kind", family.Kind, s.auth.Key(), p.Auth))
	}
	if err := family.checkURL(p.BaseURL); err != nil {
		l.Fail(s.baseURL, err.Error())
	}
}

// variableTitle names a variable only if it looks like one; otherwise it may be a secret in the wrong place.
func variableTitle(name string) string {
	if conventionalName.MatchString(name) {
		return "the environment variable " + name
	}
	return "the environment variable that it names"
}

// resolveAPIKey reads the variable that holds the key.
func (l *loader) resolveAPIKey(p *Provider, s settings) {
	if p.APIKeyEnv == "" {
		l.Report(s.auth, fmt.Sprintf(`"api_key" needs %s, the name of the environment variable that holds the key`, s.keyEnv.Key()))
		return
	}
	name := variableTitle(p.APIKeyEnv)
	value, ok := l.env[p.APIKeyEnv]
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		l.Fail(s.keyEnv, name+" is not set; set it to the key or name another")
	case value == "":
		l.Fail(s.keyEnv, name+" is empty; set it to the key or name another")
	case !headerValue.MatchString(value):
		l.Fail(s.keyEnv, name+" holds characters that no key has, such as a space or a line break")
	default:
		p.APIKey = secret.New(value)
	}
}

var (
	conventionalName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	headerValue      = regexp.MustCompile(`^[!-~]+$`)
	headerValueText  = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
)

func (l *loader) validateAccounts(provider int) {
	if s := l.settings(provider); l.Failed(s.accounts) || l.config.ordered && l.Written(s.account) {
		return // the only thing that can be wrong with account is its name
	}
	used := map[string]int{}
	for i, a := range l.config.Providers[provider].Accounts {
		key := func(name string) schema.Spot { return l.accountSpot(provider, i, name) }
		if at := key("name"); !l.Failed(at) {
			first, dup := used[a.Name]
			switch {
			case a.Name == "":
				l.Fail(at, `is missing; write name = "..." with the characters a-z, 0-9 and -`)
			case dup:
				l.Fail(at, "is also the name of the account in line "+strconv.Itoa(first)+"; names are unique in a provider")
			default:
				used[a.Name] = l.Line(key(""))
			}
		}
		if l.Written(key("credentials")) && l.Written(key("token_env")) {
			l.Report(key("token_env"), "cannot be combined with credentials; an account has one credential, so remove one of the two")
		}
	}
}
