package admin_test

import (
	"fmt"
	"testing"
)

// ERR-1: errors have the shape of the messages API, byte for byte.
func TestErrors(t *testing.T) {
	s := newSurface(t)
	account := "/admin/api/pool/anthropic/accounts/" + s.ref("a")
	for _, c := range []struct {
		method, path, credential, body string
		status                         int
		kind, message                  string
	}{
		{"GET", "/admin/api/pool", "", "", 401, "authentication_error", "send an admin token in the x-shunt-admin-token header, or log in at /admin/login"},
		{"PATCH", account, readKey, `{"paused":true}`, 403, "permission_error", "this key is read-only"},
		{"PATCH", account, writeKey, `{}`, 400, "invalid_request_error", `send {\"paused\": true} or {\"paused\": false}`},
		{"GET", "/admin/nothing", "", "", 404, "not_found_error", "no such page"},
		{"PUT", "/admin/api/accounts/claude", "", "", 405, "invalid_request_error", "this endpoint accepts POST only"},
	} {
		w := s.call(c.method, c.path, c.credential, c.body)
		want := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"%s"}}`, c.kind, c.message)
		if w.Code != c.status || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, w.Code, w.Body, c.status, want)
		}
	}
	for range 30 {
		s.call("GET", "/admin/api/pool", "wrong", "")
	}
	if w := s.call("GET", "/admin/api/pool", "wrong", ""); w.Code != 429 || w.Body.String()[:49] != `{"type":"error","error":{"type":"rate_limit_error` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
