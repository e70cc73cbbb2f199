package relay_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/dialect/responses"
	"shunt/internal/relay"
)

// The events of a Responses upstream.
const (
	created  = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n"
	spoken   = "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\"}}\n\n" + said
	said     = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"hi\"}\n\n"
	finished = "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}}\n\n" +
		"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":7,\"output_tokens\":5}}}\n\n"
	broken = "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_is_overloaded\",\"message\":\"busy\"}}}\n\n"
)

// translation returns how a response of a Responses upstream reaches a Messages client.
func translation(client *relay.Client) relay.Translation {
	turn := &dialect.Turn{Model: "m", Stream: client != nil}
	return relay.Translation{
		Reader: responses.Dialect{}.NewReader(&dialect.Encoded{}, true),
		Writer: messages.Dialect{}.NewWriter(dialect.ResponseOptions{Turn: turn}), Client: client,
	}
}

func newClient(w http.ResponseWriter) *relay.Client {
	return relay.NewClient(w, messages.Dialect{}, 15*time.Second)
}

// typesOf returns the types of the events in a stream, in order.
func typesOf(stream string) (types []string) {
	for line := range strings.Lines(stream) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); ok {
			types = append(types, name)
		}
	}
	return types
}

// DIA-3, RSP-1: a client gets each piece when it comes, and the head with the first.
func TestTranslateStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		client := newClient(w)
		defer client.Close()
		client.BeginAfter(20 * time.Second)
		o := translation(client)
		committed := 0
		o.Commit = func(h http.Header) { committed++; h.Set("X-Account", "a") }
		result := relay.Translate(w, eventStream(upstreamOf(t, created, time.Second, spoken, time.Second, said, time.Second, finished)), o)
		if result.Refusal != nil || result.Failure != nil || result.Truncated || result.Usage.Output != 5 || result.Sent != int64(w.Body.Len()) {
			t.Errorf("%+v", result)
		}
		if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}; !cmp.Equal(w.at, want) {
			t.Errorf("written at %v, want %v", w.at, want)
		}
		if committed != 1 || w.Header().Get("X-Account") != "a" || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("committed %d times: %v", committed, w.Header())
		}
		want := []string{"message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
		if diff := cmp.Diff(want, typesOf(w.Body.String())); diff != "" {
			t.Error(diff)
		}
	})
}

// FAM-8: after commit_after_seconds the client gets its head, and pings, without the headers of an account.
func TestTranslateCommitsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		client := newClient(w)
		defer client.Close()
		client.BeginAfter(20 * time.Second)
		o := translation(client)
		committed := 0
		o.Commit = func(h http.Header) { committed++; h.Set("X-Account", "a") }
		result := relay.Translate(w, eventStream(upstreamOf(t, created, 49*time.Second, spoken, 40*time.Second, finished)), o)
		if result.Refusal != nil || committed != 1 || w.Header().Get("X-Account") != "" {
			t.Errorf("committed %d times, %+v", committed, result)
		}
		want := []string{
			"ping", "message_start", "content_block_start", "content_block_delta", "ping", "ping",
			"content_block_stop", "message_delta", "message_stop",
		}
		if diff := cmp.Diff(want, typesOf(w.Body.String())); diff != "" {
			t.Error(diff)
		}
	})
}

// FAM-8: with 0, the client gets its head at once; if nothing serves it, it gets one error event.
func TestClientBeginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		client := newClient(w)
		client.BeginAfter(0)
		if !client.Begun() {
			t.Error("the client waits for its head")
		}
		time.Sleep(31 * time.Second)
		client.Fail(&dialect.Error{Kind: dialect.ServerError, Message: "nobody is left"})
		time.Sleep(time.Hour)
		if got := w.Body.String(); w.Code != http.StatusOK || !cmp.Equal(typesOf(got), []string{"ping", "ping", "error"}) || !strings.Contains(got, "nobody is left") {
			t.Errorf("%s", got)
		}
		if n, first := client.Sent(); n != int64(w.Body.Len()) || first.Sub(w.began) != 15*time.Second {
			t.Errorf("sent %d bytes, the first after %v", n, first.Sub(w.began))
		}
	})
}

// FAM-7, DIA-8: what fails before its content leaves the client to the next account; after that, the client gets the error.
func TestTranslateFailures(t *testing.T) {
	lost := errors.New("connection reset")
	for name, c := range map[string]struct {
		body                  []any
		refused, failed, sent bool // as a stream
		truncated             bool
	}{
		"at once":             {body: []any{created, broken}, refused: true},
		"truncated at once":   {body: []any{created}, refused: true, truncated: true},
		"lost at once":        {body: []any{created, lost}, refused: true, truncated: true},
		"in the middle":       {body: []any{created, spoken, time.Second, broken}, sent: true},
		"truncated in middle": {body: []any{created, spoken}, sent: true, truncated: true},
		"silent in middle":    {body: []any{created, spoken, silence{}}, sent: true, truncated: true},
		"silent at once":      {body: []any{created, silence{}}, failed: true, truncated: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := httptest.NewRecorder()
				client := newClient(w)
				defer client.Close()
				o := translation(client)
				o.Idle = time.Minute
				result := relay.Translate(w, eventStream(upstreamOf(t, c.body...)), o)
				if refused, failed := result.Refusal != nil, result.Failure != nil; refused != c.refused || failed != c.failed || result.Truncated != c.truncated {
					t.Errorf("%+v", result)
				}
				types := typesOf(w.Body.String())
				if sent := len(types) > 0; sent != c.sent || sent && types[len(types)-1] != "error" {
					t.Errorf("sent %v", types)
				}

				document := httptest.NewRecorder()
				o = translation(nil)
				o.Idle = time.Minute
				result = relay.Translate(document, eventStream(upstreamOf(t, c.body...)), o)
				if document.Body.Len() > 0 || (result.Refusal == nil) == (result.Failure == nil) || (result.Refusal != nil) != c.refused {
					t.Errorf("as a document: %+v, sent %s", result, document.Body)
				}
			})
		})
	}
}

// DIA-3: a client that does not stream gets one document.
func TestTranslateToDocument(t *testing.T) {
	w := httptest.NewRecorder()
	o := translation(nil)
	o.Commit = func(h http.Header) { h.Set("X-Account", "a") }
	var tapped strings.Builder
	o.Tap = &tapped
	result := relay.Translate(w, eventStream(strings.NewReader(created+spoken+finished)), o)
	if result.Usage.Input != 7 || result.OutputBytes != 2 || tapped.String() != created+spoken+finished {
		t.Errorf("%+v, tapped %s", result, &tapped)
	}
	if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("X-Account") != "a" || h.Get("Content-Length") == "" {
		t.Errorf("%v", h)
	}
	if body := w.Body.String(); !strings.Contains(body, `"text":"hi"`) || !strings.Contains(body, `"end_turn"`) {
		t.Errorf("%s", body)
	}
}

// FAM-8: a stream in the client's own dialect follows the head that the client has. One that fails at once leaves the client to
// the next account, as does anything but a stream.
func TestRelayToBegunClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		client := newClient(w)
		defer client.Close()
		client.BeginAfter(0)
		committed := 0
		o := relay.Options{Dialect: messages.Dialect{}, Hold: true, KeepAlive: 15 * time.Second, Client: client, Commit: func(http.Header) { committed++ }}
		failed := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n"
		if result := relay.Relay(w, eventStream(upstreamOf(t, failed)), o); result.Refusal == nil || committed != 0 {
			t.Errorf("committed %d times, %+v", committed, result)
		}
		if result := relay.Relay(w, jsonResponse(`{}`), o); result.Refusal == nil {
			t.Errorf("%+v", result)
		}
		time.Sleep(16 * time.Second)
		result := relay.Relay(w, eventStream(upstreamOf(t, start+delta, 20*time.Second, final)), o)
		if result.Refusal != nil || committed != 1 {
			t.Errorf("committed %d times, %+v", committed, result)
		}
		want := []string{"ping", "message_start", "content_block_delta", "ping", "message_delta", "message_stop"}
		if diff := cmp.Diff(want, typesOf(w.Body.String())); diff != "" {
			t.Error(diff)
		}
	})
}

// FAM-8: once the end of a request is decided, a client that does not have its head does not get it by itself.
func TestHeldClientDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		client := newClient(w)
		defer client.Close()
		client.BeginAfter(20 * time.Second)
		if client.Hold() {
			t.Error("the client has its head")
		}
		time.Sleep(time.Minute)
		if client.Begun() || w.Flushed {
			t.Error("the client gets its head")
		}
	})
}
