package schema

import "testing"

// CFG-2: problems are in the order of the lines of the file, those without a line last.
func TestProblemsAreSorted(t *testing.T) {
	ps := Problems{
		{Key: "APP_SERVER__BIND", Message: "environment"},
		{File: "app.toml", Line: 20, Key: "log.level", Message: "later"},
		{File: "app.toml", Line: 3, Key: "server.bind", Message: "first"},
	}
	const want = "app.toml:3: server.bind: first\napp.toml:20: log.level: later\nAPP_SERVER__BIND: environment"
	if got := ps.sorted().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
