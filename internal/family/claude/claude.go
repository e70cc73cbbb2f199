// Package claude is the family of Claude accounts.
package claude

import "shunt/internal/family"

// Family is the family of Claude accounts (8-families).
var Family = family.Family{
	Name:  "claude",
	Auth:  "claude_oauth",
	Hosts: []string{"anthropic.com"},
}
