package config

import (
	"strings"
	"testing"
)

// CFG-45: what configuration alone can tell that is probably not meant.
func TestWarnings(t *testing.T) {
	const pool = "[providers.claude]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\n"
	account := func(lines ...string) string {
		return "[[providers.claude.accounts]]\n" + strings.Join(lines, "\n") + "\n"
	}
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"passthrough on every address", "[server]\nbind = '0.0.0.0:1'", nil},
		{"a pool on loopback", "[server]\nbind = '127.0.0.2:1'\n" + pool, nil},
		{"a pool on loopback, mapped", "[server]\nbind = '[::ffff:127.0.0.1]:1'\n" + pool, nil},
		{"a pool on every address", "[server]\nbind = '[::]:1'\n" + pool, []string{
			"2: server.bind: whoever reaches this address can use the accounts of claude without a token; bind to a loopback address, or let only trusted machines reach it",
		}},
		{"setup tokens", pool + account("name = 'a'", "token_env = 'A'") + account("name = 'b'", "token_env = 'A'", "uuid = 'u'"), []string{
			`6: providers.claude.accounts.token_env: account "a" has no uuid, and its token does not tell it; add uuid, or an entry for the same account elsewhere is taken for another account`,
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
				`14: providers.claude.accounts.uuid: account "c" of provider claude has a uuid that other entries hold in two organizations; add organization_uuid, or it counts as an account of its own`,
				`16: providers.claude.accounts.name: account "d" of provider claude is the same account as "b" of provider claude; they share quota, cooldowns and refresh`,
			},
		},
		{"one store entry in two pools", pool + account("name = 'a'") + "[providers.second]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\naccounts = [{ name = 'a' }, { name = 'b' }]", []string{
			`9: providers.second.accounts.name: account "a" of provider second is the same account as "a" of provider claude; they share quota, cooldowns and refresh`,
		}},
		{"two files of one name in two pools", pool + account("name = 'a'", "credentials = 'a'") + "[providers.second]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\naccounts = [{ name = 'a', credentials = 'b' }]", nil},
	} {
		file := write(t, c.file)
		_, warnings, err := Load(Options{Path: file})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := strings.ReplaceAll(Problems(warnings).Error(), file+":", "")
		if want := strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, want)
		}
	}
}
