package app_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// WIRE-7: a compressed request body is refused, however it is announced, and goes nowhere.
func TestCompressedRequestBodies(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		for _, lines := range [][]string{{"gzip"}, {"ZSTD"}, {"identity", "gzip"}, {"", "br"}, {"identity, gzip"}} {
			header := simtest.Minimal.Clone()
			header["Content-Encoding"] = lines
			got := w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, false))
			if kind, _, _ := messages.ParseError([]byte(got.Body)); got.Status != 415 || kind != messages.TypeInvalidRequest {
				w.Errorf("%q: %d %s", lines, got.Status, got.Body)
			}
		}
		if w.Seen() != 0 {
			w.Errorf("%d requests reached the provider", w.Seen())
		}
		if got := w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "Content-Encoding", "Identity"), simtest.Body(simtest.PlainModel, false)); got.Status != 200 {
			w.Errorf("identity: %d %s", got.Status, got.Body)
		}
	})
}

// WIRE-4: nothing but the endpoints reaches the provider with a pool credential, however it is dressed up.
func TestOnlyEndpointsGetACredential(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		for _, target := range []string{
			"/v1/messages/", "/v1/messages/batches", "/v1/complete", "/v1/files", "/v1//messages", "/v1/./messages",
			"/v1/x/../messages", "/v1/%6dessages", "/v1/messages%2f", "/v1/messages;x", "/api/oauth/usage", "/v1/oauth/token",
		} {
			request, err := http.NewRequest(http.MethodPost, simtest.GatewayURL, bytes.NewReader([]byte(simtest.Body(simtest.PlainModel, false))))
			if err != nil {
				w.Fatal(err)
			}
			request.URL.Opaque = target
			response, err := w.Client.Do(request)
			if err != nil {
				w.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if kind, _, _ := messages.ParseError(body); response.StatusCode != 404 || kind != messages.TypeNotFound {
				w.Errorf("%s: %d %s", target, response.StatusCode, body)
			}
		}
		if w.Seen() != 0 {
			w.Errorf("%d requests reached the provider", w.Seen())
		}
	})
}
