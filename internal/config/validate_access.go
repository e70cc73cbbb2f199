package config

import (
	"fmt"
	"regexp"
	"strings"

	"shunt/internal/config/schema"
	"shunt/internal/hosts"
	"shunt/internal/secret"
	"shunt/internal/userfile"
)

// validateAccess resolves the tokens of [server.auth] and [server.admin]. shunt does not run open if its operator meant it to be
// closed (CFG-43).
func (l *loader) validateAccess() {
	server := &l.config.Server
	if server.Clients.Present {
		l.resolveClients(&server.Clients)
	}
	if server.Admin.Present {
		l.resolveAdmin(&server.Admin)
	}
	if server.Usage && !server.Clients.Present {
		l.Report(schema.At("server.usage"), "requires [server.auth], because only holders of a client token may use it")
	}
	bind := schema.At("server").Of("bind")
	if server.OAuthUsage && !server.Clients.Present && !server.Bind.Addr().IsLoopback() && !l.Failed(bind) {
		l.Report(schema.At("server.oauth_usage"), "requires [server.auth], because server.bind is not a loopback address")
	}
	if server.OAuthUsage && !l.Failed(bind) {
		l.validateNoLoop()
	}
	l.require(server.Metrics.Present && !server.Metrics.Bind.IsValid(), schema.At("server.metrics").Of("bind"), `is missing; write an address and a port, such as bind = "127.0.0.1:9464"`)
	l.require(l.config.OTel.Present && l.config.OTel.Endpoint == nil, schema.At("otel").Of("endpoint"), `is missing; write the URL of the collector, such as endpoint = "http://127.0.0.1:4318"`)
}

// require reports a key as missing, unless it is there with a wrong value.
func (l *loader) require(missing bool, at schema.Spot, message string) {
	if missing && !l.Failed(at) {
		l.Fail(at, message)
	}
}

func (l *loader) resolveClients(c *Clients) {
	at := schema.At("server.auth").Of("tokens_env")
	if l.Failed(at) {
		return
	}
	text, ok := l.env[c.TokensEnv]
	if !ok || strings.TrimSpace(text) == "" {
		l.Fail(at, variableTitle(c.TokensEnv)+" is not set or empty, so no client could use shunt; set it to name:token pairs, or remove [server.auth]")
		return
	}
	var err error
	if c.Tokens, err = pairs(text); err != nil {
		l.Fail(at, fmt.Sprintf("%s %v", variableTitle(c.TokensEnv), err))
	}
	for _, t := range c.Tokens {
		if len(t.Value.Reveal()) < shortestToken {
			l.Warn(at, fmt.Sprintf("the token of %q has fewer than %d characters and could be guessed; %s", t.Name, shortestToken, longerToken))
		}
	}
}

// shortestToken is the length, in characters, from which a token cannot be guessed (ADM-1).
const shortestToken = 16

const longerToken = "make a longer one, as with `openssl rand -hex 32`"

func (l *loader) resolveAdmin(a *Admin) {
	in := schema.At("server.admin")
	fromEnv, fromFile := in.Of("tokens_env"), in.Of("tokens_file")
	known := !l.Failed(fromEnv) && !l.Failed(fromFile)
	add := func(at schema.Spot, title, text string) {
		tokens, err := pairs(text)
		if err != nil {
			l.Fail(at, fmt.Sprintf("%s %v", title, err))
			known = false
		}
		for _, t := range tokens {
			if len(t.Value.Reveal()) < shortestToken {
				l.Fail(at, fmt.Sprintf("%s has a token for %q of fewer than %d characters, which could be guessed; %s", title, t.Name, shortestToken, longerToken))
			}
		}
		a.Tokens = append(a.Tokens, tokens...)
	}
	if text := l.env[a.TokensEnv]; strings.TrimSpace(text) != "" && !l.Failed(fromEnv) {
		add(fromEnv, variableTitle(a.TokensEnv), text)
	}
	if a.TokensFile != "" {
		if data, err := readFile(a.TokensFile); err != nil {
			l.Fail(fromFile, fmt.Sprintf("the file %v", err))
			known = false
		} else {
			add(fromFile, "the file", strings.Join(strings.FieldsFunc(string(data), isNewline), ","))
			for _, exposure := range userfile.Exposures(a.TokensFile) {
				l.Warn(fromFile, exposure.String()) // TOK-8b
			}
		}
	}
	l.validateAdminKeys(a)
	if len(a.Tokens)+len(a.ReadKeys)+len(a.WriteKeys) == 0 && known {
		l.Fail(fromEnv, variableTitle(a.TokensEnv)+" is not set or empty, and nothing else sets a credential, so nobody could log in; "+
			"set it to name:token pairs, write tokens_file, read_keys or write_keys, or remove [server.admin]")
	}
	if known {
		l.validateApart(in, a)
	}
}

func isNewline(r rune) bool { return r == '\n' || r == '\r' }

// validateAdminKeys checks that every key is complete and that names are unique.
func (l *loader) validateAdminKeys(a *Admin) {
	used := map[string]bool{}
	for _, t := range a.Tokens {
		used[t.Name] = true
	}
	check := func(list string, tokens []Token) {
		for i, t := range tokens {
			at := schema.At("server.admin").Of(list).Item(i)
			id, key := at.Of("id"), at.Of("key")
			l.require(t.Name == "", id, `is missing; write id = "..."`)
			l.require(t.Value.IsZero(), key, "is missing; write "+referencedKey)
			if used[t.Name] && t.Name != "" {
				l.Fail(id, "is also the name of another key or token of [server.admin]; names are unique")
			}
			used[t.Name] = true
		}
	}
	check("read_keys", a.ReadKeys)
	check("write_keys", a.WriteKeys)
}

// validateApart checks that no client's token gives access to the admin surface (ADM-1).
func (l *loader) validateApart(at schema.Spot, a *Admin) {
	clients := map[secret.String]bool{}
	for _, t := range l.config.Server.Clients.Tokens {
		clients[t.Value] = true
	}
	names := map[string]bool{}
	for _, t := range a.Tokens {
		if names[t.Name] {
			l.Fail(at, "tokens_env and tokens_file have a token of the same name; names are unique")
			return
		}
		names[t.Name] = true
	}
	for _, list := range [][]Token{a.Tokens, a.ReadKeys, a.WriteKeys} {
		for _, t := range list {
			if clients[t.Value] {
				l.Fail(at, "has a credential that is also a token of [server.auth]; a client's token must not give access to it, so make another")
				return
			}
		}
	}
}

// validateNoLoop keeps shunt from polling itself for the usage of its accounts (CFG-44).
func (l *loader) validateNoLoop() {
	bind := l.config.Server.Bind
	for i := range l.config.Providers {
		p, s := &l.config.Providers[i], l.settings(i)
		if !p.Pool() || p.BaseURL == nil || l.Failed(s.baseURL) || !l.authKnown(s) {
			continue
		}
		host := p.BaseURL.Hostname()
		if portOf(p.BaseURL) == fmt.Sprint(bind.Port()) && (hosts.IsLoopback(host) || host == bind.Addr().String()) {
			l.Fail(s.baseURL, "is this gateway's own address, so with [server.oauth_usage] shunt would take its own response for the provider's; use the provider's URL, or remove one of the two")
		}
	}
}

var tokenNameRule = regexp.MustCompile(`^` + tokenNames + `$`)

// pairs returns the tokens of a list of name:token pairs, separated by commas (AUTH-1). Its errors refer to pairs by number, because any
// part of one may be a secret.
func pairs(text string) ([]Token, error) {
	var tokens []Token
	used := map[string]int{}
	for i, entry := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(entry), ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		number := i + 1
		switch {
		case !ok || name == "" || value == "":
			return nil, fmt.Errorf("must hold name:token pairs separated by commas; entry %d is not one", number)
		case !tokenNameRule.MatchString(name):
			return nil, fmt.Errorf("must hold name:token pairs separated by commas; the name of entry %d has other characters than a-z, A-Z, 0-9, ., _, @ and -", number)
		case !headerValue.MatchString(value):
			return nil, fmt.Errorf("must hold name:token pairs separated by commas; the token of entry %d has characters that no token has, such as a space", number)
		case used[name] > 0:
			return nil, fmt.Errorf("has the same name in entries %d and %d; names are unique", used[name], number)
		}
		used[name] = number
		tokens = append(tokens, Token{name, secret.New(value)})
	}
	return tokens, nil
}
