package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

// endpoint is where requests are sent to.
type endpoint struct {
	addr    string   // host and port
	prefix  string   // of the path
	headers []header // replace the usual ones of the same names
	exact   bool     // a response must have the length that the upstream sent
}

// header is sent unless its value is empty.
type header struct{ name, value string }

// headerFlag collects the headers given on the command line.
type headerFlag []header

func (f *headerFlag) String() string { return "" }

func (f *headerFlag) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(s, "\r\n") {
		return fmt.Errorf("want 'name: value', not %q", s)
	}
	*f = append(*f, header{name, strings.TrimSpace(value)})
	return nil
}

// kind is what the requests of a measurement have in common.
type kind struct {
	body        []byte
	response    response
	codex, zstd bool // a request of Codex, and with a compressed body
	translated  bool // the response is not the upstream's
}

// exchange is the bytes of one request and the expected response. The body consists of two parts
// so that many sessions can share the larger one.
type exchange struct {
	head, body, rest []byte
	length           int64 // of the response's body in bytes; negative: any
	stream           bool
	last             string // of a stream: part of its last event
}

// exchanges returns one exchange for each of n sessions.
func exchanges(to endpoint, k kind, n int) []exchange {
	at := bytes.LastIndex(k.body, []byte(someSession))
	all := make([]exchange, n)
	for i := range all {
		session := sessionName(i)
		if k.codex {
			all[i] = exchange{head: []byte(to.codexHead(session, len(k.body), k.zstd)), body: k.body, length: int64(len(responsesStream)), stream: true, last: `"output_tokens":40}}}`}
			continue
		}
		all[i] = exchange{
			head:   []byte(to.head(session, len(k.body))),
			body:   k.body[:at],
			rest:   append([]byte(session), k.body[at+len(session):]...),
			length: -1,
			stream: k.response.stream,
			last:   "message_stop",
		}
		if to.exact && !k.translated {
			all[i].length = k.response.size()
		}
	}
	return all
}

// sessionName returns a name as long as someSession. The names of neighboring sessions differ everywhere.
func sessionName(i int) string {
	return fmt.Sprintf("%08x%s", uint32(i+1)*0x9e3779b9, someSession[8:])
}

// head returns the request line and headers of Claude Code.
func (to endpoint) head(session string, length int) string {
	headers := []header{
		{"host", to.addr},
		{"content-type", "application/json"},
		{"content-length", fmt.Sprint(length)},
		{"authorization", "Bearer client"},
		{"user-agent", "claude-cli/2.1.197 (external, sdk-cli)"},
		{"x-app", "cli"},
		{"accept", "application/json"},
		{"accept-encoding", "gzip, deflate, br, zstd"},
		{"anthropic-version", "2023-06-01"},
		{"anthropic-beta", "claude-code-20250219,interleaved-thinking-2025-05-14"},
		{"x-stainless-lang", "js"},
		{"x-stainless-os", "Linux"},
		{"x-stainless-runtime", "node"},
		{"x-stainless-timeout", "600"},
		{"x-stainless-retry-count", "0"},
		{"x-claude-code-session-id", session},
	}
	for _, h := range to.headers {
		set(&headers, h)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s/v1/messages?beta=true HTTP/1.1\r\n", to.prefix)
	for _, h := range headers {
		if h.value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", h.name, h.value)
		}
	}
	return b.String() + "\r\n"
}

func set(headers *[]header, h header) {
	for i := range *headers {
		if strings.EqualFold((*headers)[i].name, h.name) {
			(*headers)[i].value = h.value
			return
		}
	}
	*headers = append(*headers, h)
}

// judge returns an error if a response is truncated or not the one that the upstream sent: n bytes with the given end.
func (e *exchange) judge(r *http.Response, n int64, end []byte) error {
	whole := bytes.HasSuffix(bytes.TrimSpace(end), []byte("}"))
	if e.stream {
		whole = bytes.Contains(end, []byte(e.last))
	}
	switch {
	case e.length >= 0 && n != e.length:
		return fmt.Errorf("%w: %d bytes instead of %d", errResponse, n, e.length)
	case !whole && r.Header.Get("content-encoding") != "":
		return fmt.Errorf("%w: encoded as %s, which cannot be read here", errResponse, r.Header.Get("content-encoding"))
	case !whole:
		return fmt.Errorf("%w: its %d bytes end with %q", errResponse, n, end)
	}
	return nil
}
