package enginetest_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/sim/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo responds with what it received.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		time.Sleep(time.Hour) // of virtual time
		fmt.Fprintf(w, `{"method":%q,"path":%q,"x":%q,"body":%q}`, r.Method, r.URL.Path, r.Header.Get("X"), body)
	})
}

// A request has the path, the body and the headers of the test, and takes no real time.
func TestDo(t *testing.T) {
	enginetest.Run(t, echo, func(c *enginetest.Client) {
		got := c.Do("/a", "text", "X", "1").JSON(t)
		if got["method"] != "POST" || got["path"] != "/a" || got["x"] != "1" || got["body"] != "text" {
			t.Errorf("%v", got)
		}
		c.Do("/b", "").Want(t, 200, `"GET"`, `"/b"`)
	})
}

// A stream is read by its events.
func TestEvents(t *testing.T) {
	r := enginetest.Reply{Body: "event: a\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: [DONE]\n\n"}
	if got := r.Names(); !slices.Equal(got, []string{"a", "data", "data"}) {
		t.Errorf("names %v", got)
	}
	if got := r.Events(t); len(got) != 2 || got[0]["n"] != 1.0 || got[1]["n"] != 2.0 {
		t.Errorf("events %v", got)
	}
}
