package upstream

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/secret"
	"shunt/internal/wire"
)

// The ways in which a request proves itself to an upstream.
const (
	asPooled = iota
	asKey
	asClient
	asNobody
	ways
)

// FuzzWire: what goes over the wire is byte for byte what net/http would send of a header that is made by the plain words
// of WIRE-1 to WIRE-4 and a body of WIRE-5 and WIRE-6. Only requests that net/http's server hands on count.
func FuzzWire(f *testing.F) {
	const claude = "Host: 127.0.0.1:3001\r\nUser-Agent: claude-cli/2.1.197 (external, cli)\r\nAccept: application/json\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nAnthropic-Beta: claude-code-20250219,interleaved-thinking-2025-05-14\r\n" +
		"anthropic-dangerous-direct-browser-access: true\r\nanthropic-version: 2023-06-01\r\nauthorization: Bearer the-clients-own\r\n" +
		"Connection: keep-alive\r\nContent-Type: application/json\r\nx-app: cli\r\nx-claude-code-session-id: 0c5f\r\n" +
		"X-Stainless-Arch: x64\r\nX-Stainless-Lang: js\r\nX-Stainless-OS: Linux\r\nX-Stainless-Package-Version: 0.70.0\r\n" +
		"X-Stainless-Retry-Count: 0\r\nX-Stainless-Runtime: node\r\nX-Stainless-Runtime-Version: v24.3.0\r\nX-Stainless-Timeout: 600\r\n"
	const small = `{"model":"claude-x"}`
	const body = `{"model":"claude-x","messages":[{"role":"user","content":"hi"}],` +
		`"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"theirs\",\"session_id\":\"s\"}"},"max_tokens":64,"stream":true}`
	for way := range byte(ways) {
		f.Add(claude, body, "claude-x", "ours", "beta=true", way)
		f.Add(claude, body, "claude-y", "", "", ways+way)
		f.Add(claude, ` {"metadata":{"user_id":"{\"account_uuid\":null}"}, "mod\u0065l" : "claude-\u0078"}`+"\n", "a \"quoted\"\nname", `"\`, "beta=true&x=%2e#y", way)
		f.Add("Connection: close, x-a\r\nConnection: ,, X-B \r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\nX-C: 1\r\nX-C:\r\n", small, "claude-x", "", "?", way)
		f.Add("Anthropic-Beta: a\r\nAnthropic-Beta:\r\nanthropic-beta: b, oauth-2025-04-20-x\r\nX-Api-Key: k\r\nX-Api-Key: l\r\n", small, "claude-y", "u", "", way)
		f.Add("Anthropic-Beta: a\r\nAnthropic-Beta: b , oauth-2025-04-20\r\nUser-Agent: one\r\nUser-Agent: two\r\n", small, "claude-x", "u", "", way)
		f.Add("Cookie: c\r\nExpect: 100-continue\r\nForwarded: for=1\r\nX-Forwarded-For: 1\r\nX-Forwarded: 2\r\nX-Real-IP: 1\r\nVia: 1.1 x\r\n"+
			"X-Shunt-Token: t\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 1\r\nProxy-Authorization: p\r\nProxy-Connection: keep-alive\r\n"+
			"Content-Length: 5\r\nTrailer: X-T\r\nPragma: no-cache\r\n", small, "claude-x", "", "", way)
		f.Add("CF-Connecting-IP: 1\r\nCf: 1\r\nCDN-Loop: x\r\nTrue-Client-IP: 1\r\nX-Client-IP: 1\r\nX-Clients: 1\r\nX-Envoy-Id: 1\r\nX-Amzn-Trace-Id: 1\r\n"+
			"X-Amz-Date: 1\r\nFly-Region: x\r\nX-Vercel-Id: 1\r\nX-Auth-Request-User: me\r\nTailscale-User-Name: me\r\nX-Goog-IAP-JWT-Assertion: j\r\n"+
			"X-Goog-Api-Key: k\r\nX-MS-CLIENT-PRINCIPAL: p\r\n", small, "claude-x", "", "", way)
		f.Add("Transfer-Encoding: chunked\r\nUser-Agent:\r\nX-Folded: a\r\n b\r\n", small, "claude-x", "", "", way)
	}
	transport := newTestTransport(nil)
	var endpoints []endpoint
	for _, base := range []string{"https://api.example", "http://up.example:8080/a%20b/"} {
		u, err := url.Parse(base)
		if err != nil {
			f.Fatal(err)
		}
		endpoints = append(endpoints, transport.endpoint(u))
	}
	f.Fuzz(func(t *testing.T, header, text, model, uuid, query string, how byte) {
		path, way := []string{"/v1/messages", "/v1/messages/count_tokens"}[how/ways%2], how%ways
		to := endpoints[how/ways/2%2]
		if query != "" {
			query = "?" + strings.TrimPrefix(query, "?")
		}
		client, err := http.ReadRequest(bufio.NewReader(strings.NewReader("POST " + path + query + " HTTP/1.1\r\n" + header + "\r\n")))
		if err != nil || client.URL.Path != path || !allowed(client.Header) {
			return
		}
		scan, err := messages.Dialect{}.Scan([]byte(text))
		if err != nil {
			return
		}
		if way != asPooled {
			uuid = ""
		}

		b, err := ReadBody(strings.NewReader(text), -1, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		r := &Request{Client: client, Path: path, Dialect: messages.Dialect{}, Body: b, Scan: scan, Model: model}
		c := r.passing(new(family.Family), r.edits(uuid))
		if way == asPooled {
			if beta, changed := withItem(client.Header, "Anthropic-Beta", "oauth-2025-04-20"); changed {
				c.set = append(c.set, beta)
			}
		}
		if r.restore() != "" || way == asPooled && scan.Stream {
			c.set = append(c.set, identityEncoding)
		}
		c.credential = [...]Credential{asPooled: Bearer(secret.New("ours")), asKey: APIKey(secret.New("ours")), asClient: {}, asNobody: NoCredential()}[way]
		p := to.payload(r, c)
		p.writeHead("", to.sender.Host())
		got := append(bytes.Clone(p.head), bytes.Join(p.body, nil)...)
		p.release()

		if want := plainly(t, client, to.base, scan, text, model, uuid, int(way)); !bytes.Equal(got, want) {
			t.Errorf("sent:\n%q\nnot:\n%q", got, want)
		}
	})
}

// allowed reports whether net/http's server accepts a header.
func allowed(h http.Header) bool {
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return false
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) || value != strings.Trim(value, " \t") { // net/http trims what unfolding leaves
				return false
			}
		}
	}
	return true
}

// plainly is the request that has to go out, by net/http and without any care for speed.
func plainly(t *testing.T, client *http.Request, base *url.URL, scan dialect.Request, body, model, uuid string, way int) []byte {
	h := client.Header.Clone()
	for _, line := range client.Header.Values("Connection") { // WIRE-3
		for _, name := range strings.Split(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding",
		"upgrade", "content-length", "host", "cookie", "expect", "forwarded", "x-real-ip", "via",
		"cdn-loop", "true-client-ip", "x-client-ip", "x-cluster-client-ip",
	} {
		h.Del(name)
	}
	for name := range h {
		for _, prefix := range []string{
			"x-forwarded-", "x-shunt-", "cf-", "x-envoy-", "x-amzn-", "fly-", "x-vercel-", "x-auth-request-", "tailscale-user-", "x-goog-iap-",
			"x-goog-authenticated-user-", "x-ms-client-",
		} {
			if strings.HasPrefix(strings.ToLower(name), prefix) {
				h.Del(name)
			}
		}
	}
	if way != asClient { // WIRE-1, WIRE-2
		h.Del("Authorization")
		h.Del("X-Api-Key")
		h.Del("X-Goog-Api-Key")
	}
	switch way {
	case asPooled:
		h.Set("Authorization", "Bearer ours")
		addBeta(h)
	case asKey:
		h.Set("X-Api-Key", "ours")
	}
	if model != scan.Model || way == asPooled && scan.Stream {
		h.Set("Accept-Encoding", "identity")
	}

	target := *client.URL // WIRE-4
	target.Scheme, target.Host = base.Scheme, base.Host
	target.Path = strings.TrimSuffix(base.Path, "/") + target.Path

	edits := map[int]wire.Edit{} // WIRE-5, WIRE-6
	if model != scan.Model {
		edits[scan.ModelSpan.Start] = wire.Edit{Span: scan.ModelSpan, With: wire.Quote(model)}
	}
	if uuid != "" && scan.AccountUUID.End > 0 {
		nested := wire.Quote(string(wire.Quote(uuid)))
		edits[scan.AccountUUID.Start] = wire.Edit{Span: scan.AccountUUID, With: nested[1 : len(nested)-1]}
	}
	for at := len(body); at >= 0; at-- { // from behind, so that what is ahead stays where it is
		if e, ok := edits[at]; ok {
			body = body[:e.Start] + string(e.With) + body[e.End:]
		}
	}

	agent, named := h["User-Agent"]
	if !named {
		h["User-Agent"] = nil // else net/http sends its own
	}
	r := &http.Request{Method: http.MethodPost, URL: &target, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	if named && agent[0] == "" { // net/http leaves an empty one out; WIRE-1 preserves it
		return bytes.Replace(out.Bytes(), []byte("\r\nContent-Length:"), []byte("\r\nUser-Agent: \r\nContent-Length:"), 1)
	}
	return out.Bytes()
}

// addBeta adds the beta of OAuth unless it is there (WIRE-1).
func addBeta(h http.Header) {
	const beta = "oauth-2025-04-20"
	lines := h.Values("Anthropic-Beta")
	for _, entry := range strings.Split(strings.Join(lines, ","), ",") {
		if strings.TrimSpace(entry) == beta {
			return
		}
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return line == "" })
	h.Set("Anthropic-Beta", strings.Join(append(lines, beta), ","))
}
