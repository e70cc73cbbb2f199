package apptest

import (
	"strings"

	"shunt/internal/sim/simtest"
)

// PoolOf returns a configuration whose default provider is a pool of the store's accounts, and more.
func PoolOf(more string) string {
	return "[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"" + simtest.ProviderURL + "\"\n" + more
}

// Planned is [PoolOf] with a table [server.pool] of these lines.
func Planned(lines, more string) string { return "[server.pool]\n" + lines + "\n" + PoolOf(more) }

// Listed returns an account of the default pool, for [PoolOf], with more keys as TOML lines.
func Listed(name string, keys ...string) string {
	return "[[providers.anthropic.accounts]]\nname = \"" + name + "\"\n" + strings.Join(keys, "\n") + "\n"
}
