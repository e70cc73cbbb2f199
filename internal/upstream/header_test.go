package upstream

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/secret"
)

// WIRE-1, WIRE-2, WIRE-3: what ends at this hop ends here, what is the client's goes on, and nothing is added.
func TestRequestHeader(t *testing.T) {
	client := http.Header{
		"Authorization": {"Bearer client"}, "X-Api-Key": {"client-key"}, "X-Goog-Api-Key": {"client-goog"}, "Cookie": {"c"}, "Expect": {"100-continue"}, "Host": {"h"},
		"Forwarded": {"for=1"}, "X-Forwarded-For": {"1"}, "X-Forwarded-Proto": {"https"}, "X-Real-Ip": {"1"}, "Via": {"1.1 x"},
		"X-Shunt-Token": {"t"}, "X-Shunt-Account": {"a"}, "Content-Length": {"9"}, "Transfer-Encoding": {"chunked"}, "Te": {"trailers"},
		"Trailer": {"X-T"}, "Upgrade": {"h2c"}, "Keep-Alive": {"1"}, "Proxy-Authorization": {"p"}, "Proxy-Connection": {"keep-alive"},
		"Cf-Connecting-Ip": {"1"}, "Cf-Ray": {"r"}, "Cdn-Loop": {"cloudflare"}, "True-Client-Ip": {"1"}, "X-Client-Ip": {"1"}, "X-Cluster-Client-Ip": {"1"},
		"X-Envoy-External-Address": {"1"}, "X-Amzn-Trace-Id": {"t"}, "Fly-Client-Ip": {"1"}, "Fly-Region": {"x"}, "X-Vercel-Id": {"v"},
		"X-Auth-Request-Email": {"me@example"}, "Tailscale-User-Login": {"me@example"}, "X-Goog-Iap-Jwt-Assertion": {"j"},
		"X-Goog-Authenticated-User-Email": {"me@example"}, "X-Ms-Client-Principal": {"p"}, "X-Ms-Client-Principal-Name": {"me@example"},
		"Connection": {"close, x-named", "X-Other"}, "X-Named": {"n"}, "X-Other": {"o"},
		"X-App": {"cli"}, "X-Stainless-Os": {"Linux"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"a,b"},
		"X-Claude-Code-Session-Id": {"s"}, "Accept-Encoding": {"gzip, br"}, "X-Forward": {"not a proxy's"}, "X-Multi": {"1", "2"},
		"Cf": {"1"}, "Cfx-Ray": {"1"}, "Flyer": {"1"}, "X-Client": {"1"}, "X-Amz-Date": {"1"}, "X-Auth": {"1"}, "X-Ms-Date": {"1"}, "X-Goog-Api-Client": {"1"},
	}
	kept := http.Header{
		"X-App": {"cli"}, "X-Stainless-Os": {"Linux"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"a,b"},
		"X-Claude-Code-Session-Id": {"s"}, "Accept-Encoding": {"gzip, br"}, "X-Forward": {"not a proxy's"}, "X-Multi": {"1", "2"},
		"Cf": {"1"}, "Cfx-Ray": {"1"}, "Flyer": {"1"}, "X-Client": {"1"}, "X-Amz-Date": {"1"}, "X-Auth": {"1"}, "X-Ms-Date": {"1"}, "X-Goog-Api-Client": {"1"},
		"User-Agent": nil,
	}
	with := func(name, value string) http.Header {
		h := kept.Clone()
		h.Set(name, value)
		return h
	}
	passthrough := with("Authorization", "Bearer client")
	passthrough.Set("X-Api-Key", "client-key")
	passthrough.Set("X-Goog-Api-Key", "client-goog")
	for name, c := range map[string]struct {
		credential Credential
		want       http.Header
	}{
		"passthrough": {Credential{}, passthrough},
		"bearer":      {Bearer(secret.New("ours")), with("Authorization", "Bearer ours")},
		"key":         {APIKey(secret.New("ours")), with("X-Api-Key", "ours")},
		"goog key":    {GoogAPIKey(secret.New("ours")), with("X-Goog-Api-Key", "ours")},
		"nobody":      {NoCredential(), kept},
	} {
		before := client.Clone()
		if diff := cmp.Diff(c.want, headerOf(appendFields(nil, client, c.credential, nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, client); diff != "" {
			t.Errorf("%s changed the client's header:\n%s", name, diff)
		}
	}
	client.Set("User-Agent", "claude-cli/2")
	if got := headerOf(appendFields(nil, client, Credential{}, nil)).Get("User-Agent"); got != "claude-cli/2" {
		t.Errorf("user-agent %q", got)
	}
}

// WIRE-1: the OAuth beta joins the client's own, once.
func TestListHeaderItems(t *testing.T) {
	for _, c := range []struct{ before, after []string }{
		{nil, []string{"oauth-2025-04-20"}},
		{[]string{""}, []string{"oauth-2025-04-20"}},
		{[]string{"a,b"}, []string{"a,b,oauth-2025-04-20"}},
		{[]string{"a", "b"}, []string{"a,b,oauth-2025-04-20"}},
		{[]string{"a", "b, oauth-2025-04-20"}, []string{"a", "b, oauth-2025-04-20"}},
		{[]string{"oauth-2025-04-20"}, []string{"oauth-2025-04-20"}},
		{[]string{"oauth-2025-04-20-x"}, []string{"oauth-2025-04-20-x,oauth-2025-04-20"}},
	} {
		client := http.Header{"Anthropic-Beta": c.before}
		var set []field
		if beta, changed := withItem(client, "Anthropic-Beta", "oauth-2025-04-20"); changed {
			set = append(set, beta)
		}
		h := headerOf(appendFields(nil, client, Credential{}, set))
		if diff := cmp.Diff(c.after, h["Anthropic-Beta"]); diff != "" {
			t.Errorf("%q: %s", c.before, diff)
		}
		if diff := cmp.Diff(c.before, client["Anthropic-Beta"]); diff != "" {
			t.Errorf("the client's header changed: %s", diff)
		}
	}
}

// WIRE-10, CHN-3: an answer's headers go through, except for what is this hop's, a cookie, or shunt's to say.
func TestResponseHeader(t *testing.T) {
	upstream := http.Header{
		"Content-Type": {"application/json"}, "Request-Id": {"r"}, "Anthropic-Ratelimit-Unified-5h-Status": {"allowed"}, "Retry-After": {"3"},
		"Content-Encoding": {"gzip"}, "Date": {"d"}, "Vary": {"a", "b"},
		"Set-Cookie": {"c"}, "Connection": {"x-hop"}, "X-Hop": {"h"}, "Transfer-Encoding": {"chunked"}, "Content-Length": {"3"}, "Trailer": {"t"},
		"X-Shunt-Account": {"forged"}, "X-Gateway-Upstream": {"forged"}, "X-Gateway-Model": {"forged"}, "X-Gateway-Upstream-Model": {"forged"},
	}
	got := http.Header{}
	copyResponseHeader(got, upstream)
	want := http.Header{
		"Content-Type": {"application/json"}, "Request-Id": {"r"}, "Anthropic-Ratelimit-Unified-5h-Status": {"allowed"}, "Retry-After": {"3"},
		"Content-Encoding": {"gzip"}, "Date": {"d"}, "Vary": {"a", "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// CHN-3: what cannot stand in a header is left out.
func TestIsPrintable(t *testing.T) {
	for value, ok := range map[string]bool{
		"claude-x": true, "a b~": true, "": false, "a\nb": false, "caf\u00e9": false, "\x7f": false,
		strings.Repeat("x", 256): true, strings.Repeat("x", 257): false,
	} {
		if isPrintable(value) != ok {
			t.Errorf("%q: %v", value, !ok)
		}
	}
}

// The table is read for every header of every request; it must not allocate.
func TestHopHeadersCostNoMemory(t *testing.T) {
	names := []string{"Accept", "Anthropic-Beta", "Authorization", "Content-Type", "User-Agent", "X-App", "X-Claude-Code-Session-Id", "X-Stainless-Os", "", "X-", "\xff"}
	if n := testing.AllocsPerRun(100, func() {
		for _, name := range names {
			if isHopByHop(name) {
				t.Errorf("%q stays", name)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendFields(b *testing.B) {
	client := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip, deflate, br, zstd"}, "Anthropic-Beta": {"a,b,c,d,e"}, "Anthropic-Version": {"2023-06-01"},
		"Authorization": {"Bearer x"}, "Connection": {"keep-alive"}, "Content-Length": {"115000"}, "Content-Type": {"application/json"},
		"User-Agent": {"claude-cli/2"}, "X-App": {"cli"}, "X-Claude-Code-Session-Id": {"s"}, "X-Stainless-Arch": {"x64"}, "X-Stainless-Lang": {"js"},
		"X-Stainless-Os": {"Linux"}, "X-Stainless-Package-Version": {"1"}, "X-Stainless-Retry-Count": {"0"}, "X-Stainless-Runtime": {"node"},
		"X-Stainless-Runtime-Version": {"v24"}, "X-Stainless-Timeout": {"600"},
	}
	var fields []field
	for b.Loop() {
		fields = appendFields(fields[:0], client, Credential{}, nil)
	}
}
