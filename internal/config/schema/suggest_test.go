package schema

import "testing"

// CFG-2: there is a suggestion only for a name that is close to one.
func TestNearest(t *testing.T) {
	known := []string{"bind", "log", "limits", "timeouts", "max_url_length", "threshold_5h", "threshold_7d"}
	for name, want := range map[string]string{
		"bnid": "bind", "Bind": "bind", "binds": "bind", "lob": "log", "timeout": "timeouts", "max-url-lenght": "max_url_length",
		"treshold_7d": "threshold_7d", "threshold_5": "threshold_5h",
		"": "", "x": "", "otel": "", "pool": "", "bounds": "", "max_url": "", "länge": "",
	} {
		if got, _ := Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "bc", 1}, {"abc", "acb", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}, {"ä", "a", 1},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
