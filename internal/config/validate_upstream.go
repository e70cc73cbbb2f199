package config

import (
	"fmt"
	"strconv"
)

// validateUpstreams reports what is wrong with [[upstreams]] in ways that [providers.*] has not (CFG-20, CFG-21).
func (l *loader) validateUpstreams() {
	if len(l.config.Providers) == 0 && !l.failed(spot{key: "upstreams"}) {
		l.fail(spot{key: "upstreams"}, "is empty; declare an upstream, or remove it to have the built-in provider")
	}
	used := map[string]int{}
	for i := range l.config.Providers {
		p, s := &l.config.Providers[i], l.settings(i)
		switch first, dup := used[p.Name]; {
		case l.failed(s.name):
		case p.Name == "":
			l.fail(s.name, `is missing; write name = "..." with the characters a-z, 0-9, _ and -`)
		case dup:
			l.report(s.name, "is also the name of the upstream in line "+strconv.Itoa(first)+"; names are unique")
		default:
			used[p.Name] = l.places[s.self].line
		}
		l.validateProtocol(p, s)
		l.validateAuth(p, s)
	}
}

// validateProtocol wants a preset, or what takes its place.
func (l *loader) validateProtocol(p *Provider, s settings) {
	switch {
	case p.Preset != "" || l.failed(s.preset):
	case !l.written(s.kind) && !l.written(s.baseURL):
		l.fail(s.preset, "is missing, and so are kind and base_url; write provider = \"anthropic\", another preset, or those two")
	case !l.written(s.kind):
		l.report(s.kind, `is missing; write kind = "anthropic", or name a preset with provider`)
	}
}

// validateAuth reports what does not belong to the mode, since it would have no effect.
func (l *loader) validateAuth(p *Provider, s settings) {
	if l.written(s.authTable) && !l.written(s.auth) && p.Preset == "" && l.authKnown(s) {
		l.fail(s.auth, `is missing; write "passthrough", "api_key" or "claude_oauth"`)
	}
	if l.written(s.accounts) && !l.failed(s.accounts) && len(p.Accounts) == 0 {
		l.fail(s.accounts, "is empty; name the accounts, or remove it to use the whole account store")
	}
	if l.written(s.account) && l.written(s.accounts) {
		l.fail(s.accounts, "cannot stand beside account; name all accounts here, or the one there")
	}
	if !l.authKnown(s) {
		return
	}
	if l.written(s.account) && !p.Pool() {
		l.report(s.account, `belongs to a pool; write mode = "claude_oauth" or remove it`)
	}
	for _, at := range []spot{s.keyEnv, s.keyHeader} {
		if l.written(at) && p.Auth != APIKey {
			l.report(at, fmt.Sprintf("belongs to an API key; write mode = %q or remove it", APIKey))
		}
	}
}
