package upstream

import (
	"net/url"
	"testing"

	"shunt/internal/family/claude"
	"shunt/internal/secret"
)

// CHN-4: an origin is scheme, name and port, however they are written.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		first, second string
		same          bool
	}{
		{"http://api.example", "http://api.example/v2", true},
		{"http://api.example", "http://api.example:80", true},
		{"https://api.example:443/x", "https://API.example", true},
		{"http://api.example:8080", "http://api.example:8080", true},
		{"http://[::1]", "http://[::1]:80", true},
		{"http://api.example", "http://api.example:8080", false},
		{"http://api.example", "https://api.example", false},
		{"http://api.example:443", "https://api.example", false},
		{"http://api.example", "http://www.api.example", false},
		{"http://api.example", "http://api.example.", false},
		{"http://127.0.0.1", "http://localhost", false},
	} {
		first, second := single(t, c.first, Credential{}), single(t, c.second, Credential{})
		if takesSecond(first, second) != c.same || takesSecond(second, first) != c.same {
			t.Errorf("%s and %s: same %v", c.first, c.second, !c.same)
		}
	}
}

// takesSecond reports whether the client's credential goes on to the second of two upstreams.
func takesSecond(first, second Upstream) bool {
	return TakesClient([]Link{{Upstream: first}, {Upstream: second}}, 1)
}

// CHN-4: only an upstream without a credential of its own takes the client's, be that credential an empty one.
func TestTakesClient(t *testing.T) {
	pass := single(t, "http://api.example", Credential{})
	if !TakesClient([]Link{{Upstream: pass}}, 0) || !takesSecond(pass, pass) {
		t.Error("a passthrough does not take the client's credential")
	}
	for _, other := range []Upstream{
		single(t, "http://api.example", Bearer(secret.New("k"))), single(t, "http://api.example", APIKey(secret.New(""))),
		NewPool(PoolOptions{Base: pass.base, Transport: newTestTransport(nil)}),
	} {
		if TakesClient([]Link{{Upstream: other}}, 0) || takesSecond(pass, other) || takesSecond(other, pass) {
			t.Errorf("%T takes the client's credential", other)
		}
	}
}

func single(t *testing.T, base string, c Credential) *Single {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return NewSingle(SingleOptions{Name: "x", Base: u, Credential: c, Family: &claude.Family, Transport: newTestTransport(nil)})
}
