package sim_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shunt/internal/sim"
)

// responseTo returns a provider's response to the body, as sent over the wire.
func responseTo(tb testing.TB, body string) (contentType string, data []byte) {
	tb.Helper()
	p := sim.New(sim.Config{Output: sim.Range{Min: 20, Max: 20}, Accounts: []sim.Account{{Name: "key", APIKey: "sk-paid"}}})
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, sim.MessagesPath, strings.NewReader(body))
	req.Header.Set("X-Api-Key", "sk-paid")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	p.ServeHTTP(w, req)
	if w.Code != 200 {
		tb.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Header().Get("Content-Type"), w.Body.Bytes()
}

func readResponse(contentType string, data []byte) (sim.Response, error) {
	return sim.ReadResponse(&http.Response{
		StatusCode: 200,
		Header:     http.Header{"Content-Type": {contentType}},
		Body:       io.NopCloser(bytes.NewReader(data)),
	})
}

// Streamed and plain responses have the same content, and every prefix of a stream is detected as truncated.
func TestReadResponse(t *testing.T) {
	streamType, stream := responseTo(t, thinkingBody)
	plainType, plain := responseTo(t, strings.Replace(thinkingBody, `"stream":true,`, "", 1))
	fromStream, err := readResponse(streamType, stream)
	if err != nil {
		t.Fatal(err)
	}
	fromPlain, err := readResponse(plainType, plain)
	if err != nil {
		t.Fatal(err)
	}
	if fromStream.Pings != 1 {
		t.Errorf("%d pings", fromStream.Pings)
	}
	fromStream.Pings = 0
	if fromStream != fromPlain {
		t.Errorf("streamed %+v, plain %+v", fromStream, fromPlain)
	}
	if err := fromPlain.Verify([]byte(thinkingBody)); err != nil {
		t.Error(err)
	}
	swapped := fromPlain
	swapped.Text, swapped.Thinking = swapped.Thinking, swapped.Text
	if swapped.Verify([]byte(thinkingBody)) == nil {
		t.Error("thinking verifies as text")
	}
	if fromPlain.Verify([]byte(strings.Replace(thinkingBody, "hello", "hullo", 1))) == nil {
		t.Error("the response verifies for another prompt")
	}
	for n := range stream {
		if _, err := readResponse(streamType, stream[:n]); !errors.Is(err, sim.ErrTruncated) {
			t.Fatalf("truncated after %d of %d bytes: %v", n, len(stream), err)
		}
	}
}

// A response that verifies is the one that was sent.
func FuzzReadResponse(f *testing.F) {
	contentType, data := responseTo(f, streamBody)
	want, err := readResponse(contentType, data)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(true, data)
	_, plain := responseTo(f, plainBody)
	f.Add(false, plain)
	f.Add(true, []byte("event: message_start\ndata: {\"type\":\"message_start\"}\n\n"))
	f.Add(true, []byte(": comment\n\nevent: error\ndata: {\"type\":\"error\"}\n\n"))
	f.Fuzz(func(t *testing.T, stream bool, data []byte) {
		contentType := "application/json"
		if stream {
			contentType = "text/event-stream"
		}
		got, err := readResponse(contentType, data)
		if err == nil && got.Verify([]byte(streamBody)) == nil && got.Text != want.Text {
			t.Errorf("%q verifies as %q", got.Text, want.Text)
		}
	})
}

// Quantiles are computed from the recorded durations.
func TestLatency(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		for d := time.Second; d <= 4*time.Second; d += time.Second {
			r.Inject("a", sim.SlowHeaders(d).Times(1))
		}
		s := (&gateway{rig: r}).session()
		s.Turns = 4
		report := s.Run(r.Context())
		l := report.FirstByte
		if l.Count != 4 || l.Max != 4*time.Second || l.Quantile(0) != time.Second || l.Quantile(0.5) != 2*time.Second || l.Quantile(1) != 4*time.Second {
			r.Errorf("%+v", l)
		}
		if got := (sim.Latency{}).Quantile(0.5); got != 0 {
			r.Errorf("without durations: %v", got)
		}
	})
}
