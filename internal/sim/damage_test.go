package sim_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// WIRE-5, WIRE-11, RTE-3: a session detects everything that a gateway changes, mixes up or loses.
func TestDamageIsDetected(t *testing.T) {
	replace := func(old, with string) func(http.Header, []byte) []byte {
		return func(_ http.Header, body []byte) []byte { return bytes.Replace(body, []byte(old), []byte(with), 1) }
	}
	var earlier []byte
	for name, g := range map[string]gateway{
		"a changed prompt": {request: func(b []byte) []byte { return bytes.Replace(b, []byte("simulated coding"), []byte("real coding"), 1) }},
		"changed white space in a prompt": {request: func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"required":["path"]`), []byte(`"required": ["path"]`), 1)
		}},
		"another model":                         {request: func(b []byte) []byte { return bytes.Replace(b, []byte("claude-sonnet"), []byte("claude-opus"), 1) }},
		"a changed word":                        {response: replace("amber", "ember")},
		"a lost delta":                          {response: dropEvent("content_block_delta", 6)},
		"a lost block start":                    {response: dropEvent("content_block_start", 1)},
		"a lost message_delta":                  {response: dropEvent("message_delta", 0)},
		"a lost message_start":                  {response: dropEvent("message_start", 0)},
		"a ping inside an event":                {response: replace("event: message_delta\n", "event: message_delta\n"+string(messages.Dialect{}.Ping()))},
		"a ping that is another event":          {response: replace("event: ping", "event: message_stop")},
		"an event after the end":                {response: func(_ http.Header, b []byte) []byte { return append(b, messages.Dialect{}.Ping()...) }},
		"a second start":                        {response: replace("event: content_block_start", "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: content_block_start")},
		"a ping with other data":                {response: replace(`{"type": "ping"}`, `{"type": "pong"}`)},
		"a second message_delta":                {response: replace("event: message_stop", "event: message_delta\ndata: {\"type\":\"message_delta\"}\n\nevent: message_stop")},
		"a skipped block":                       {response: replace(`"index":1`, `"index":2`)},
		"damaged JSON":                          {response: replace(`data: {"type":"message_stop"}`, `data: {"type":"message_stop"`)},
		"a plain response that is not JSON":     {response: func(h http.Header, _ []byte) []byte { h.Set("Content-Type", "text/html"); return []byte("<html>") }},
		"a content coding that was not applied": {response: func(h http.Header, b []byte) []byte { h.Set("Content-Encoding", "gzip"); return b }},
		"an unknown content coding":             {response: func(h http.Header, b []byte) []byte { h.Set("Content-Encoding", "lzma"); return b }},
		"an earlier response in its place":      {response: func(_ http.Header, b []byte) []byte { b, earlier = or(earlier, b), b; return b }},
		"a lost signature":                      {response: func(_ http.Header, b []byte) []byte { return dropSignature(b) }},
		"text in place of thinking":             {response: replace("[sim thinking", "[sim text")},
	} {
		bubble(t, oneAccount, func(r *rig) {
			g.rig = r
			session := g.session()
			report := session.Run(r.Context())
			if report.Damaged == 0 || report.Damaged+report.Completed != report.Turns || report.Completed > 1 {
				r.Errorf("%s is not detected: %+v", name, report)
			}
		})
	}
}

// A gateway may send pings between events and map a model back and forth.
func TestHarmlessChanges(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		g := &gateway{
			rig: r,
			request: func(b []byte) []byte {
				return bytes.Replace(b, []byte("claude-sonnet-4-5"), []byte("claude-opus-4-5"), 1)
			},
			response: func(_ http.Header, b []byte) []byte {
				b = bytes.Replace(b, []byte("claude-opus-4-5"), []byte("claude-sonnet-4-5"), 1)
				b = bytes.Replace(b, []byte("event: message_delta"), append(bytes.Clone(messages.Dialect{}.Ping()), ": comment\n\nevent: message_delta"...), 1)
				return append(bytes.Clone(messages.Dialect{}.Ping()), b...)
			},
		}
		pings := 0
		session := g.session()
		session.OnTurn = func(turn sim.Turn) { pings += turn.Pings }
		if got := session.Run(r.Context()); got.Completed != 6 || pings != 18 {
			r.Errorf("%d pings, %+v", pings, got)
		}
	})
}

func dropEvent(name string, n int) func(http.Header, []byte) []byte {
	return func(_ http.Header, body []byte) []byte {
		seen := 0
		var kept []string
		for _, event := range strings.SplitAfter(string(body), "\n\n") {
			if strings.HasPrefix(event, "event: "+name+"\n") {
				if seen++; seen == n+1 {
					continue
				}
			}
			kept = append(kept, event)
		}
		return []byte(strings.Join(kept, ""))
	}
}

func dropSignature(body []byte) []byte {
	var kept []string
	for _, event := range strings.SplitAfter(string(body), "\n\n") {
		if !strings.Contains(event, "signature_delta") {
			kept = append(kept, event)
		}
	}
	return []byte(strings.Join(kept, ""))
}

func or(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}
