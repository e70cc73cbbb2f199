// Package secret holds the string type that never prints itself, so that a token cannot reach a log, an error or a dump
// by accident (CFG-5, TOK-8). It does not encrypt and does not wipe memory.
package secret

import "log/slog"

// Redacted is what every formatter shows in place of a secret.
const Redacted = "[redacted]"

// String is a secret value. Only [String.Reveal] gives it back; fmt, slog, encoding/json and encoding.TextMarshaler all
// see [Redacted]. The zero value is the empty secret. Values compare with ==.
type String struct{ value string }

// New wraps a value.
func New(value string) String { return String{value} }

// Reveal returns the value itself, for the one place that sends or stores it.
func (s String) Reveal() string { return s.value }

// IsZero reports whether the secret is empty.
func (s String) IsZero() bool { return s.value == "" }

func (s String) String() string               { return Redacted }
func (s String) GoString() string             { return Redacted }
func (s String) LogValue() slog.Value         { return slog.StringValue(Redacted) }
func (s String) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
func (s String) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }
