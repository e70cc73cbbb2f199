package config

import (
	"fmt"
	"strconv"

	"shunt/internal/config/schema"
)

// validateUpstreams checks what applies to [[upstreams]] and not to [providers.*] (CFG-20, CFG-21).
func (l *loader) validateUpstreams() {
	if len(l.config.Providers) == 0 && !l.Failed(schema.At("").Of("upstreams")) {
		l.Fail(schema.At("").Of("upstreams"), "is empty; declare an upstream, or remove it to use the built-in provider")
	}
	used := map[string]int{}
	for i := range l.config.Providers {
		p, s := &l.config.Providers[i], l.settings(i)
		switch first, dup := used[p.Name]; {
		case l.Failed(s.name):
		case p.Name == "":
			l.Fail(s.name, `is missing; write name = "..." with the characters a-z, 0-9, _ and -`)
		case dup:
			l.Report(s.name, "is also the name of the upstream in line "+strconv.Itoa(first)+"; names are unique")
		default:
			used[p.Name] = l.Line(s.self)
		}
		l.validateProtocol(p, s)
		l.validateAuth(p, s)
	}
}

// validateProtocol requires a preset, or the keys that replace it.
func (l *loader) validateProtocol(p *Provider, s settings) {
	switch {
	case p.Preset != "" || l.Failed(s.preset):
	case !l.Written(s.kind) && !l.Written(s.baseURL):
		l.Fail(s.preset, "is missing, and so are kind and base_url; write provider = \"anthropic\", another preset, or those two")
	case !l.Written(s.kind):
		l.Report(s.kind, `is missing; write kind = "anthropic", or name a preset with provider`)
	}
}

// validateAuth reports keys that do not belong to the mode and would have no effect.
func (l *loader) validateAuth(p *Provider, s settings) {
	if l.Written(s.authTable) && !l.Written(s.auth) && p.Preset == "" && l.authKnown(s) {
		l.Fail(s.auth, "is missing; write "+schema.OneOf(l.families.auths()...))
	}
	if l.Written(s.accounts) && !l.Failed(s.accounts) && len(p.Accounts) == 0 {
		l.Fail(s.accounts, "is empty; name the accounts, or remove it to use the whole account store")
	}
	if l.Written(s.account) && l.Written(s.accounts) {
		l.Fail(s.accounts, "cannot be combined with account; name all accounts here, or the one there")
	}
	if !l.authKnown(s) {
		return
	}
	if l.Written(s.account) && !p.Pool() {
		l.Report(s.account, "belongs to a pool; write "+l.families.mode("mode", "")+" or remove it")
	}
	for _, at := range []schema.Spot{s.keyEnv, s.keyHeader} {
		if l.Written(at) && p.Auth != APIKey {
			l.Report(at, fmt.Sprintf("belongs to an API key; write mode = %q or remove it", APIKey))
		}
	}
}
