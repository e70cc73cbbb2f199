package upstream_test

import (
	"net/http"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/upstream"
)

// INB-6: the same session of two clients with tokens of their own is two sessions; without tokens, it is one.
func TestSessionsOfClients(t *testing.T) {
	session := func(client string) pool.Session {
		r := &upstream.Request{
			Client: &http.Request{Header: http.Header{"X-Claude-Code-Session-Id": {"s"}}}, Dialect: messages.Dialect{}, Record: &observe.Record{Client: client},
		}
		r.Identify()
		return r.Session
	}
	ann := session("ann")
	if ann == session("ben") || ann != session("ann") || session("") != pool.SessionOf("s") {
		t.Errorf("%v %v %v", ann, session("ben"), session(""))
	}
}
