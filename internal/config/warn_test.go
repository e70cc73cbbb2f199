package config

import (
	"strings"
	"testing"
)

// CFG-45: warnings about what is probably not intended, as far as the configuration alone shows it.
func TestWarnings(t *testing.T) {
	const pool = "[providers.claude]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\n"
	account := func(lines ...string) string {
		return "[[providers.claude.accounts]]\n" + strings.Join(lines, "\n") + "\n"
	}
	const upstreams = "server.default_provider = 'a'\n"
	upstream := func(name, accounts string) string {
		return "[[upstreams]]\nname = '" + name + "'\nprovider = 'anthropic'\nauth = { mode = 'claude_oauth', accounts = [" + accounts + "] }\n"
	}
	route := func(model string) string {
		return "[[routes]]\nprovider = 'anthropic'\nmodel = '" + model + "'\n"
	}
	prefix := func(prefix string) string {
		return "[[route_prefixes]]\nprovider = 'anthropic'\nprefix = '" + prefix + "'\n"
	}
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"passthrough on every address", "[server]\nbind = '0.0.0.0:1'", nil},
		{"a pool on loopback", "[server]\nbind = '127.0.0.2:1'\n" + pool, nil},
		{"a pool on loopback, mapped", "[server]\nbind = '[::ffff:127.0.0.1]:1'\n" + pool, nil},
		{"a pool on every address", "[server]\nbind = '[::]:1'\n" + pool, []string{
			"2: server.bind: anyone who can reach this address can use the accounts of claude without a token; write [server.auth], bind to a loopback address, or let only trusted machines reach it",
		}},
		{"setup tokens", pool + account("name = 'a'", "token_env = 'A'") + account("name = 'b'", "token_env = 'A'", "uuid = 'u'"), []string{
			`6: providers.claude.accounts.token_env: account "a" has no uuid, and its token does not contain it; add uuid, or shunt takes another entry for the same account for a different account`,
		}},
		{"different accounts", pool + account("name = 'a'", "uuid = 'u'") + account("name = 'b'", "uuid = 'U'") + account("name = 'c'") + account("name = 'd'", "uuid = ''"), nil},
		{"one uuid", pool + account("name = 'a'", "uuid = 'u'") + account("name = 'b'", "credentials = 'b'", "uuid = 'u'"), []string{
			`8: providers.claude.accounts.name: account "b" of provider claude is the same account as "a" of provider claude; they share quota, cooldowns and refresh`,
		}},
		{"one uuid, one organization known", pool + account("name = 'a'", "uuid = 'u'", "organization_uuid = 'o'") + account("name = 'b'", "uuid = 'u'"), []string{
			`9: providers.claude.accounts.name: account "b" of provider claude is the same account as "a" of provider claude; they share quota, cooldowns and refresh`,
		}},
		{
			"one uuid in two organizations", pool + account("name = 'a'", "uuid = 'u'", "organization_uuid = 'o'") + account("name = 'b'", "uuid = 'u'", "organization_uuid = 'p'") +
				account("name = 'c'", "uuid = 'u'") + account("name = 'd'", "uuid = 'u'", "organization_uuid = 'p'"), []string{
				`14: providers.claude.accounts.uuid: account "c" of provider claude has a uuid that other entries have in two organizations; add organization_uuid, or it counts as a separate account`,
				`16: providers.claude.accounts.name: account "d" of provider claude is the same account as "b" of provider claude; they share quota, cooldowns and refresh`,
			},
		},
		{"one store entry in two pools", pool + account("name = 'a'") + "[providers.second]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\naccounts = [{ name = 'a' }, { name = 'b' }]", []string{
			`9: providers.second.accounts.name: account "a" of provider second is the same account as "a" of provider claude; they share quota, cooldowns and refresh`,
		}},
		{"two files of one name in two pools", pool + account("name = 'a'", "credentials = 'a'") + "[providers.second]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\naccounts = [{ name = 'a', credentials = 'b' }]", nil},
		{"one account in two upstreams", upstreams + upstream("a", "'x', { name = 'y', uuid = 'u' }") + upstream("b", "'x', { name = 'y', uuid = 'u' }"), nil},
		{"one account under two names", upstreams + upstream("a", "'x', { name = 'y', uuid = 'u' }") + upstream("b", "{ name = 'z', uuid = 'u' }"), []string{
			`9: upstreams.auth.accounts.name: account "z" of provider b is the same account as "y" of provider a; they share quota, cooldowns and refresh`,
		}},
		{"a setup token in an upstream", upstreams + upstream("a", "{ name = 'y', token_env = 'Y' }"), []string{
			`5: upstreams.auth.accounts.token_env: account "y" has no uuid, and its token does not contain it; add uuid, or shunt takes another entry for the same account for a different account`,
		}},
		{"an API key for Anthropic", upstreams + "[[upstreams]]\nname = 'a'\nprovider = 'anthropic'\nauth = { mode = 'api_key', env = 'KEY' }\n" +
			"[[upstreams]]\nname = 'b'\nprovider = 'anthropic'\nauth = { mode = 'api_key', env = 'KEY', header = 'x_api_key' }\n" +
			"[[upstreams]]\nname = 'c'\nprovider = 'zai'\nauth = { mode = 'api_key', env = 'KEY' }", []string{
			`5: upstreams.auth.header: is "bearer", but Anthropic takes API keys in x-api-key; write header = "x_api_key"`,
		}},
		{"an API key for a provider", "[providers.anthropic]\nauth = 'api_key'\napi_key_env = 'KEY'", []string{
			`1: providers.anthropic.api_key_header: is "bearer", but Anthropic takes API keys in x-api-key; write api_key_header = "x_api_key"`,
		}},
		{"proxies that are not trusted", "[server.access_control]\ntrusted_proxies = ['10.0.0.0/8']", []string{
			`2: server.access_control.trusted_proxies: has no effect without trust_forwarded_for = true; add that, or remove this`,
		}},
		{"proxies that are trusted", "[server.access_control]\ntrust_forwarded_for = true\ntrusted_proxies = ['10.0.0.0/8']", nil},
		{"a key over plain HTTP", "[providers.a]\nbase_url = 'http://10.0.0.1:8080'\nauth = 'api_key'\napi_key_env = 'KEY'", []string{
			`2: providers.a.base_url: sends the API key over plain HTTP, which anyone on the network path can read; use https, or a provider on this machine`,
		}},
		{"a client's token over plain HTTP", "[providers.a]\nbase_url = 'http://a.example'", []string{
			`2: providers.a.base_url: sends the credentials of clients over plain HTTP, which anyone on the network path can read; use https, or a provider on this machine`,
		}},
		{"plain HTTP on this machine", "[providers.a]\nbase_url = 'http://LOCALHOST:8080'\n[providers.b]\nbase_url = 'http://127.0.0.1'\nauth = 'api_key'\napi_key_env = 'KEY'", nil},
		{"a short client token", "[server.auth]", []string{
			"1: server.auth.tokens_env: the token of \"ann\" has fewer than 16 characters and could be guessed; make a longer one, as with `openssl rand -hex 32`",
		}},
		{"routes that nothing reaches", route("m") + route("n") + route("m") + route("o[1m]"), []string{
			`9: routes.model: is also routed in line 1, so this route is never used`,
			`12: routes.model: ends in a long-context mark, which shunt removes from every model before it looks for it, so this route is never used; write the model without the mark`,
		}},
		{"prefixes that nothing reaches", prefix("m-n-") + prefix("m-") + prefix("m-n-o") + prefix("M-") + prefix("m-"), []string{
			`9: route_prefixes.prefix: begins with the prefix in line 1, so this one is never used; put it before that one`,
			`15: route_prefixes.prefix: begins with the prefix in line 4, so this one is never used; put it before that one`,
		}},
	} {
		file := write(t, c.file)
		_, warnings, err := Load(Options{Families: claude, Path: file, Env: []string{"KEY=key", "SHUNT_CLIENT_TOKENS=ann:fifteen-letters,bob:sixteen-letters-"}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := strings.ReplaceAll(Problems(warnings).Error(), file+":", "")
		if want := strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, want)
		}
	}
}
