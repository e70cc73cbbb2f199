package schema

import "testing"

// CFG-4: references and their replacements.
func TestExpand(t *testing.T) {
	source := Source{Env: map[string]string{"A": "one", "_b2": "${A}", "EMPTY": ""}, ReadFile: func(path string) ([]byte, error) {
		return map[string][]byte{"/secret": []byte("\n from file ${A}\n\n")}[path], nil
	}}
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain $ {A} $A $}", "plain $ {A} $A $}"},
		{"${A}", "one"},
		{"x${A}y${A}z", "xoneyonez"},
		{"${_b2}", "${A}"},
		{"[${EMPTY}]", "[]"},
		{"$${A}", "${A}"},
		{"$${A} ${A}", "${A} one"},
		{"$$${A}", "$${A}"},
		{"$${", "${"},
		{"${file:/secret}", "from file ${A}"},
		{"$${file:/secret}", "${file:/secret}"},
	} {
		if got, err := source.expand(c.text); err != nil || got != c.want {
			t.Errorf("expand(%q) = %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}
