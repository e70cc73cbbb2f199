package messages_test

import (
	"strings"
	"testing"

	"shunt/internal/wire"
)

// RTE-3: the literal to restore in a JSON response is found as soon as it is complete.
func TestResponseModel(t *testing.T) {
	for head, want := range map[string]string{
		`{"id":"msg_1","content":[{"model":"no"}],"model":"a","usage":{}}`: `"a"`,
		"{ \"mod\\u0065l\" : \"a\\\"b\" , \"cut":                           `"a\"b"`,
		`{"model":"a"`:                                                     `"a"`,
		`{"model":""}`:                                                     `""`,
		`{"content":[{"text":"cut`:                                         ``,
		`{"model":"cu`:                                                     ``,
		`{"model":null}`:                                                   ``,
		`{"message":{"model":"no"}}`:                                       ``,
		`["model"]`:                                                        ``,
		``:                                                                 ``,
	} {
		span, ok := api.ResponseModel([]byte(head))
		if got := head[span.Start:span.End]; ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %v; want %s", head, got, ok, want)
		}
	}
}

// RTE-3: the literal to restore in a message_start event.
func TestStartModel(t *testing.T) {
	_, data, _ := strings.Cut(strings.TrimSpace(messageStart), "data: ")
	for data, want := range map[string]string{
		data: `"claude-sonnet-4-5"`,
		`{"type":"message_start" , "message" : { "content":[{"model":"no"}], "model" : "a" } }`: `"a"`,

		`{"model":"no","message":{}}`: ``,
		`{"message":{"model":1}}`:     ``,
		`{"message":"model"}`:         ``,
		`{"type":"ping"}`:             ``,
		`oops`:                        ``,

		`{"message":{"model":"a"},"model":"after"`: `"a"`,
	} {
		stream := "event: message_start\ndata: " + data + "\n\n"
		e, _ := wire.NextEvent([]byte(stream), 0)
		got := ""
		for _, span := range api.EventModels(nil, &e) {
			got += stream[span.Start:span.End]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
}
