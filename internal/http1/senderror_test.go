package http1

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// FO-0a: a SendError says what decides whether the peer may be working on the
// request.
func TestSendError(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(*visitor)
		want  SendError
	}{
		{"closed at once", func(v *visitor) { v.request() }, SendError{Sent: true}},
		{"closed a minute later", func(v *visitor) { v.request(); time.Sleep(time.Minute) }, SendError{Sent: true, After: time.Minute}},
		{"closed before the request was read", func(v *visitor) { v.head() }, SendError{}},
		{"100, then closed", func(v *visitor) { v.request(); v.write("HTTP/1.1 100 Continue\r\n\r\n") }, SendError{Sent: true, Received: true}},
		{"half a head", func(v *visitor) { v.request(); v.write("HTTP/1.1 200 OK\r\nContent-") }, SendError{Sent: true, Received: true}},
		{"one byte", func(v *visitor) { v.request(); v.write("H") }, SendError{Sent: true, Received: true}},
		{"an old connection", func(v *visitor) { v.request(); v.write(okay); v.request() }, SendError{Sent: true, Reused: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := inMemory(t, c.serve)
				if c.want.Reused {
					p.mustServe(t, newRequest(t, "x"))
				}
				_, err := p.Send(t.Context(), newRequest(t, noise(10<<10)))
				var got *SendError
				if !errors.As(err, &got) {
					t.Fatalf("%v is not a SendError", err)
				}
				if got.Err == nil || got.Reused != c.want.Reused || got.Received != c.want.Received || got.Sent != c.want.Sent || got.After != c.want.After {
					t.Errorf("%+v, want %+v", *got, c.want)
				}
			})
		})
	}
}
