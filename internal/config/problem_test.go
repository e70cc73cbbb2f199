package config

import "testing"

// CFG-2: problems come in the order of the file's lines; what has no line comes last.
func TestProblemsAreSorted(t *testing.T) {
	ps := Problems{
		{Key: "SHUNT_SERVER__BIND", Message: "environment"},
		{File: "shunt.toml", Line: 20, Key: "log.level", Message: "later"},
		{File: "shunt.toml", Line: 3, Key: "server.bind", Message: "first"},
	}
	ps.sort()
	const want = "shunt.toml:3: server.bind: first\nshunt.toml:20: log.level: later\nSHUNT_SERVER__BIND: environment"
	if got := ps.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
