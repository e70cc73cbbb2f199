// Package secret provides a string type that never prints its value, so that a token cannot reach a log, an error or a dump
// by accident (CFG-5, TOK-8). It does not encrypt values and does not wipe memory.
package secret

import "log/slog"

// Redacted is printed in place of every secret.
const Redacted = "[redacted]"

// String is a secret value. Only [String.Reveal] returns it; fmt, slog, encoding/json and [encoding.TextMarshaler] print
// [Redacted]. The zero value is the empty secret. Values are comparable with ==.
type String struct{ value string }

// New returns value as a secret.
func New(value string) String { return String{value} }

// Reveal returns the value. Only code that sends or stores it should call Reveal.
func (s String) Reveal() string { return s.value }

// IsZero reports whether the secret is empty.
func (s String) IsZero() bool { return s.value == "" }

func (s String) String() string               { return Redacted }
func (s String) GoString() string             { return Redacted }
func (s String) LogValue() slog.Value         { return slog.StringValue(Redacted) }
func (s String) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
func (s String) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }
