package http1

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// WIRE-10: net/http reads every response that this package reads, with the same status, header, body and end, and never
// closes a connection that this package would reuse. It may read others too.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\nrest",
		"HTTP/1.1 200 OK\nX: 1\nx:2 \n\nuntil the end",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.0 429 \r\nConnection: a, Keep-Alive\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 9\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nPragma: no-cache\r\n\r\n",
		"HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 000 Odd\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 999 Odd\r\n\r\nhi",
		chunked + "0000000000000002\r\nhi\r\n0000000000000000\r\n\r\n",
		chunked + "00000000000000002\r\nhi\r\n0\r\n\r\n",
		chunked + "ffffffffffffffff\r\nhi",
		chunked + "2;a=\"b\" \r\nhi\r\n2 ;c\r\nhi\r\n0;d\r\n\r\n",
		chunked + "2;a\rb\r\nhi\r\n0\r\n\r\n",
		chunked + chunksWithExtensions(20, 1000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, text) })
}

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// chunksWithExtensions returns n chunks of one byte, each with an extension of some length, and the last chunk.
func chunksWithExtensions(n, length int) string {
	return strings.Repeat("1;"+strings.Repeat("x", length)+"\r\na\r\n", n) + "0\r\n\r\n"
}

// compare reports whether a response can be read to its end, which is an error unless net/http reads the same.
func compare(t *testing.T, text string) (ok bool) {
	t.Helper()
	ours := bufio.NewReader(strings.NewReader(text))
	h, err := readHead(ours)
	if err != nil || isInterim(h.status) {
		return false
	}
	theirs := bufio.NewReader(strings.NewReader(text))
	want, err := http.ReadResponse(theirs, nil)
	if err != nil {
		t.Fatalf("net/http rejects it: %v", err)
	}
	if _, repaired := h.header["Pragma"]; repaired && h.header["Cache-Control"] == nil {
		delete(want.Header, "Cache-Control") // which net/http adds
	}
	delete(h.header, "Transfer-Encoding")
	if h.framed == byChunks || len(h.header["Content-Length"]) > 1 {
		delete(h.header, "Content-Length")
		delete(want.Header, "Content-Length")
	}
	for _, name := range []string{"Trailer", "Connection"} { // net/http sometimes removes them
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
		t.Error("the connection can be reused, but not by net/http")
	}
	body := newBody(ours, &h)
	got, err := io.ReadAll(&body)
	wantBody, wantErr := io.ReadAll(want.Body)
	if !strings.HasPrefix(string(wantBody), string(got)) || err == nil && (wantErr != nil || len(got) != len(wantBody)) {
		t.Errorf("body %q, %v; net/http: %q, %v", got, err, wantBody, wantErr)
	}
	if err != nil || !h.reuse {
		return err == nil
	}
	rest, _ := io.ReadAll(ours)
	wantRest, _ := io.ReadAll(theirs)
	if string(rest) != string(wantRest) {
		t.Errorf("then %q; net/http: %q", rest, wantRest)
	}
	return true
}

// WIRE-10: this package accepts and rejects these as net/http does.
func TestReadsWhatNetHTTPReads(t *testing.T) {
	line := "X: " + strings.Repeat("x", 995) + "\r\n"
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"status 099":                  {"HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nhi", true},
		"status 000":                  {"HTTP/1.1 000 Odd\r\nContent-Length: 2\r\n\r\nhi", true},
		"status 600":                  {"HTTP/1.1 600 Odd\r\nContent-Length: 2\r\n\r\nhi", true},
		"status 999":                  {"HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nhi", true},
		"status 2000":                 {"HTTP/1.1 2000 Odd\r\nContent-Length: 2\r\n\r\nhi", false},
		"a head over 1 MiB":           {"HTTP/1.1 200 OK\r\n" + strings.Repeat(line, 2000) + "Content-Length: 2\r\n\r\nhi", true},
		"sizes with leading zeros":    {chunked + "0002\r\nhi\r\n0000\r\n\r\n", true},
		"sizes of 16 digits":          {chunked + "0000000000000002\r\nhi\r\n0000000000000000\r\n\r\n", true},
		"sizes of 17 digits":          {chunked + "00000000000000002\r\nhi\r\n0\r\n\r\n", false},
		"a space after a size":        {chunked + "2 \r\nhi\r\n0\t\r\n\r\n", true},
		"a space before an extension": {chunked + "2 ;x\r\nhi\r\n0\r\n\r\n", false},
		"CR in an extension":          {chunked + "2;x\ry\r\nhi\r\n0\r\n\r\n", false},
		"short extensions":            {chunked + chunksWithExtensions(5000, 10), true},
		"long extensions, few":        {chunked + chunksWithExtensions(15, 1000), true},
		"long extensions, many":       {chunked + chunksWithExtensions(20, 1000), false},
		"an extension of 4 KiB":       {chunked + chunksWithExtensions(1, 4096), false},
	} {
		response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(c.text)), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: net/http: %v", name, err)
		}
		if ok := compare(t, c.text); ok != c.ok {
			t.Errorf("%s: %v, not %v", name, ok, c.ok)
		}
	}
}
