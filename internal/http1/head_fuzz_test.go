package http1

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// WIRE-10: every answer that is read is what net/http reads of the same bytes: status, header, body, where it ends and
// whether the connection goes on. Ours reads fewer.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\nrest",
		"HTTP/1.1 200 OK\nX: 1\nx:2 \n\nuntil the end",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.0 429 \r\nConnection: a, Keep-Alive\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 9\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nPragma: no-cache\r\n\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ours := bufio.NewReader(strings.NewReader(text))
		h, err := readHead(ours)
		if err != nil || h.status < 200 {
			return
		}
		theirs := bufio.NewReader(strings.NewReader(text))
		want, err := http.ReadResponse(theirs, nil)
		if err != nil {
			t.Fatalf("net/http refuses it: %v", err)
		}
		if _, repaired := h.header["Pragma"]; repaired && h.header["Cache-Control"] == nil {
			delete(want.Header, "Cache-Control") // which net/http adds
		}
		delete(h.header, "Transfer-Encoding")
		if h.framed == byChunks || len(h.header["Content-Length"]) > 1 {
			delete(h.header, "Content-Length")
			delete(want.Header, "Content-Length")
		}
		for _, name := range []string{"Trailer", "Connection"} { // net/http takes them off, at times
			delete(h.header, name)
			delete(want.Header, name)
		}
		if diff := cmp.Diff(want.Header, h.header); diff != "" {
			t.Errorf("header (-net/http +ours):\n%s", diff)
		}
		if h.status != want.StatusCode || h.length != want.ContentLength {
			t.Errorf("status %d, length %d; net/http: %d, %d", h.status, h.length, want.StatusCode, want.ContentLength)
		}
		if h.reuse && want.Close {
			t.Error("the connection goes on, and for net/http it does not")
		}
		body := newBody(ours, &h)
		got, err := io.ReadAll(&body)
		wantBody, wantErr := io.ReadAll(want.Body)
		if string(got) != string(wantBody) || err == nil && wantErr != nil {
			t.Errorf("body %q, %v; net/http: %q, %v", got, err, wantBody, wantErr)
		}
		if err != nil || !h.reuse {
			return
		}
		rest, _ := io.ReadAll(ours)
		wantRest, _ := io.ReadAll(theirs)
		if string(rest) != string(wantRest) {
			t.Errorf("then %q; net/http: %q", rest, wantRest)
		}
	})
}
