package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"shunt/internal/secret"
)

// CFG-5, TOK-8: no way of printing a secret reveals its value.
func TestNeverPrintsItself(t *testing.T) {
	const value = "sk-hush"
	s := secret.New(value)
	holder := struct{ Key secret.String }{s}

	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "holder", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "holder", holder)
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{log.String(), string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		shown = append(shown, fmt.Sprintf(verb, s), fmt.Sprintf(verb, holder), fmt.Sprintf(verb, &holder))
	}
	for _, text := range shown {
		if strings.Contains(text, value) {
			t.Errorf("leaked: %s", text)
		}
	}
	if s.Reveal() != value {
		t.Errorf("Reveal() = %q", s.Reveal())
	}
}
