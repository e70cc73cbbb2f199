// Package chat is a dialect (9-dialects).
package chat

import "shunt/internal/dialect/messages"

// Dialect is the dialect.
type Dialect struct{ messages.Dialect }

// Name implements [dialect.Outbound].
func (Dialect) Name() string { return "chat" }
