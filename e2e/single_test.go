package e2e

import (
	"testing"

	"shunt/internal/sim"
)

// A gateway with its own key sends that in the configured header, and does not forward the client's credential (WIRE-2).
func TestAPIKey(t *testing.T) {
	for _, header := range []string{"bearer", "x_api_key"} {
		t.Run(header, func(t *testing.T) {
			p := startProvider(t, sim.Config{Accounts: []sim.Account{paidAccount()}})
			g := startGateway(t, p, newStore(t, p), "auth = \"api_key\"\napi_key_env = \"PAID_KEY\"\napi_key_header = \""+header+"\"", "PAID_KEY="+paidKey)
			user := newClaude(t, g.url, clientToken)
			p.shown(t, user.prompt(t, "say hi"))
			last := p.shown(t, user.followUp(t, "again"))
			bearer, key := last.Header.Get("authorization"), last.Header.Get("x-api-key")
			if want := map[string][2]string{"bearer": {"Bearer " + paidKey, ""}, "x_api_key": {"", paidKey}}[header]; bearer != want[0] || key != want[1] {
				t.Errorf("authorization %q, x-api-key %q", bearer, key)
			}
		})
	}
}

// A gateway without credentials forwards the client's, and relays the provider's compressed responses (WIRE-2, WIRE-10).
func TestPassthrough(t *testing.T) {
	p := startProvider(t, sim.Config{Accounts: []sim.Account{paidAccount()}, Encodings: []string{"zstd", "br", "gzip"}})
	g := startGateway(t, p, newStore(t, p), `auth = "passthrough"`)
	user := newClaude(t, g.url, paidKey)
	first := p.shown(t, user.prompt(t, "say hi"))
	second := p.shown(t, user.followUp(t, "again"))
	if first.Session() != second.Session() || second.AccountUUID != "" {
		t.Errorf("sessions %s, %s; account_uuid %q", first.Session(), second.Session(), second.AccountUUID)
	}
}
