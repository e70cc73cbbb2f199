package messages_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"shunt/internal/dialect/messages"
)

// ERR-1: the envelope, member for member.
func TestAppendError(t *testing.T) {
	for _, tt := range []struct{ message, requestID, want string }{
		{"no", "req_1", `x{"type":"error","error":{"type":"rate_limit_error","message":"no"},"request_id":"req_1"}`},
		{"no", "", `x{"type":"error","error":{"type":"rate_limit_error","message":"no"}}`},
		{"a \"b\" \\ <c>\n\t\r\x01\u2028\xff", "", `x{"type":"error","error":{"type":"rate_limit_error","message":"a \"b\" \\ <c>\n\t\r\u0001` + "\u2028\ufffd" + `"}}`},
	} {
		if got := string(messages.AppendError([]byte("x"), messages.TypeRateLimit, tt.message, tt.requestID)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// ERR-2, FO-11: an envelope is recognized as providers send it, and nothing else is.
func TestParseError(t *testing.T) {
	for _, tt := range []struct {
		body    string
		kind    messages.ErrorType
		message string
	}{
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, messages.TypeOverloaded, "Overloaded"},
		{"\n{ \"error\" : { \"message\" : \"a \\\"b\\\"\", \"type\" : \"api_error\" } }\n", messages.TypeAPI, `a "b"`},
		{`{"error":{"type":"permission_error"}}`, messages.TypePermission, ""},
		{`{"error":{"type":"permission_error","message":{"a":1}}}`, messages.TypePermission, ""},
		{`{"error":{"type":"x","message":"y"},"cut`, "x", "y"},
		{`{"error":{"type":"x","mess`, "", ""},
		{`{"error":{"type":"x","message":"\y"}}`, "x", ""},
		{`{"error":"invalid_grant"}`, "", ""},
		{`{"error":{"message":"y"}}`, "", ""},
		{`{"error":null}`, "", ""},
		{`{"message":{"error":{"type":"x"}}}`, "", ""},
		{`[{"error":{"type":"x"}}]`, "", ""},
		{`<html>`, "", ""},
		{``, "", ""},
	} {
		kind, message, ok := messages.ParseError([]byte(tt.body))
		if kind != tt.kind || message != tt.message || ok != (tt.kind != "") {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.body, kind, message, ok, tt.kind, tt.message)
		}
	}
}

// FuzzParseError: what encoding/json reads out of a well-formed body is what comes out, and a message survives the way
// there and back (ERR-1).
func FuzzParseError(f *testing.F) {
	f.Add([]byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	f.Add([]byte(`{"error":{"type":"\u0061","type":"b","message":1},"error":{}}`))
	f.Add([]byte("{\"error\":{\"type\":\"x\xff\\ud800\"}}"))
	f.Add([]byte(`{"error":[]`))
	f.Add([]byte(`{"error":{"message":"0"}}`))
	f.Add([]byte("0\xa6\x98\x87"))
	f.Fuzz(func(t *testing.T, body []byte) {
		kind, message, ok := messages.ParseError(body)
		if ok != (kind != "") {
			t.Fatalf("ok = %v with type %q", ok, kind)
		}
		var outer map[string]json.RawMessage
		if json.Unmarshal(body, &outer) == nil {
			var inner map[string]any
			_ = json.Unmarshal(outer["error"], &inner)
			wantKind, _ := inner["type"].(string)
			wantMessage, _ := inner["message"].(string)
			if wantKind == "" {
				wantMessage = "" // an error without a type is none
			}
			if string(kind) != wantKind || message != wantMessage {
				t.Fatalf("%q, %q; encoding/json reads %q, %q", kind, message, wantKind, wantMessage)
			}
		}

		envelope := messages.AppendError(nil, messages.TypeAPI, string(body), "req_1")
		if !json.Valid(envelope) {
			t.Fatalf("not JSON: %s", envelope)
		}
		kind, message, ok = messages.ParseError(envelope)
		if want := string([]rune(string(body))); !ok || kind != messages.TypeAPI || message != want {
			t.Fatalf("%q came back as %q, %q, %v", body, kind, message, ok)
		}
		if bytes.ContainsAny(envelope, "\r\n") {
			t.Fatal("the envelope does not stand on one line, as an event's data has to")
		}
	})
}
