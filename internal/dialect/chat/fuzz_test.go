package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/wire"
	"shunt/internal/wire/wiretest"
)

// FuzzScan: the scan agrees with a plain decoder (RTE-2, INB-6), and its edits change nothing but the model (WIRE-5).
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"model":"m"}`, `{"model":"m","stream":true,"prompt_cache_key":"k"}`, `{"mod\u0065l":"m","prompt_cache_key":"\u006b\ud83d"}`,
		`{"model":"m","prompt_cache_key":"a","prompt_cache_key":null}`, `{"model":"m","model":"n"}`, `{"messages":[{"model":"no"}],"model":"m","stream":"true"} `,
		`{"prompt_cache_key":{"a":1},"model":""}`, `{"model":1}`, `{"model":"m"}x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := api.Scan(body)
		var rejected *dialect.RequestError
		if err != nil && !errors.As(err, &rejected) {
			t.Fatalf("%#v", err)
		}
		if !json.Valid(body) {
			return // the scan validates only what it reads
		}
		want, valid := plainScan(body)
		if valid != (err == nil) {
			t.Fatalf("%v, valid for the reference: %v", err, valid)
		}
		if !valid {
			return
		}
		if r.Model != want.model || r.Stream != want.stream || len(want.key) <= 256 && r.SessionID(body) != want.key {
			t.Fatalf("%+v with session %q, want %+v", r, r.SessionID(body), want)
		}
		segments, _ := wire.Splice(body, api.AppendEdits(nil, &r, "other", "")...)
		edited := bytes.Join(segments, nil)
		again, err := api.Scan(edited)
		if err != nil || again.Model != "other" || len(edited)-len(body) != len(`"other"`)-(r.ModelSpan.End-r.ModelSpan.Start) && r.Model != "other" {
			t.Fatalf("%s becomes %s (%v)", body, edited, err)
		}
	})
}

type scanned struct {
	model, key string
	stream     bool
}

// plainScan reads members one by one, since a body with two models is invalid.
func plainScan(body []byte) (s scanned, valid bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return s, false
	}
	models := 0
	for d.More() {
		name, _ := d.Token()
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return s, false
		}
		var text string
		isText := raw[0] == '"' && json.Unmarshal(raw, &text) == nil
		switch name {
		case "model":
			if models++; !isText || text == "" || len(text) > 256 {
				return s, false
			}
			s.model = text
		case "stream":
			s.stream = string(raw) == "true"
		case "prompt_cache_key":
			s.key = text
		}
	}
	return s, models == 1
}

// FuzzReadTurn: whatever a client sends is read or rejected with a reason, and what is read is in normal form and can be sent to
// an upstream as valid JSON, which says the same as what is read of it again (INB-3).
func FuzzReadTurn(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"model":"m","messages":[]}`, `{"model":"m","messages":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"system","content":"s"}]}`,
		`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"}},{"id":"d","type":"custom","custom":{"name":"p","input":"x"}}]},{"role":"tool","tool_call_id":"d","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,A\""}}]},{"role":"tool","tool_call_id":"c","content":"o"},{"role":"tool","tool_call_id":"c","content":"p"}]}`,
		`{"model":"m","tools":[{"type":"custom","custom":{"name":"p","format":{"type":"text"}}},{"type":"function","function":{"name":"f f","parameters":{}}}],"tool_choice":{"type":"custom","custom":{"name":"p"}},"messages":[{"role":"assistant","content":[{"type":"refusal","refusal":"no"}],"reasoning_content":"r"}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"AA","filename":"f"}},{"type":"file","file":{"file_data":"data:text/plain;base64,QQ=="}}]}]}`,
		`{"model":"m","n":1,"max_tokens":9,"stop":["a","b","c","d","e"],"temperature":1e-7,"reasoning_effort":"high","response_format":{"type":"json_schema","json_schema":{"name":"","schema":{"a": 1}}},"stream":true,"web_search_options":{},"messages":[{"role":"user","content":"a"}]}`,
	} {
		f.Add([]byte(seed))
	}
	to := &dialect.Target{Model: "m", Origin: origin, Accepts: dialect.Accepts{ReasoningEffort: true, ReturnsReasoning: true}}
	f.Fuzz(func(t *testing.T, body []byte) {
		turn, err := api.ReadTurn(body)
		if err == nil {
			if again := dialect.Normalize(turn.Messages); len(again) != len(turn.Messages) {
				t.Fatalf("%s is not in normal form", body)
			}
		}
		var sent [3][]byte
		for i := range sent {
			var encoded dialect.Encoded
			if err == nil {
				encoded, err = api.Encode(turn, to)
			}
			var rejected *dialect.RequestError
			if err != nil {
				if !errors.As(err, &rejected) || rejected.Message == "" || i > 0 {
					t.Fatalf("%s: %#v", body, err)
				}
				return
			}
			sent[i] = encoded.Body
			if !json.Valid(sent[i]) {
				t.Fatalf("%s becomes %s", body, sent[i])
			}
			turn, err = api.ReadTurn(sent[i])
		}
		if !bytes.Equal(sent[1], sent[2]) {
			t.Fatalf("%s becomes %s, that %s, and that %s", body, sent[0], sent[1], sent[2])
		}
	})
}

// FuzzStreamReader: the events of a stream do not depend on its division into chunks (DIA-3), and keep to the order that their
// kinds promise; what is written for them is a well-formed stream (CHT-1, INB-3). The meter agrees about the end.
func FuzzStreamReader(f *testing.F) {
	for _, seed := range []string{
		chunk(`"content":"a"`) + stop("stop") + counted + done, chunk(`"content":"a"`), done, chunk(`"reasoning":"r","content":[{"type":"text","text":"a\n"}]`) + stop("length"),
		calls(`{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}`, `{"index":1,"id":"d","function":{"name":"n__f","arguments":{"a":1}}}`) + calls(`{"index":0,"function":{"arguments":"}"}}`) + chunk(`"refusal":"no"`) + done,
		calls(`{"id":"c","function":{"name":"patch","arguments":"{\"input\":\"\\ud83d"}}`) + calls(`{"function":{"arguments":"\\ude00\"}"}}`, `{"function":{"name":"patch"}}`) + stop("error") + done,
		calls(`{"function":{"arguments":"{}"}}`) + `data: {"error":"no"}` + "\n\n", "event: error\ndata: {}\n\n", "data: {\n\n", `data: {"object":"error"}` + "\n\n",
	} {
		f.Add([]byte(seed), uint64(0b1011))
	}
	f.Fuzz(func(t *testing.T, response []byte, cuts uint64) { checkResponse(t, response, cuts, true) })
}

// FuzzDocumentReader is [FuzzStreamReader] for responses that are one document.
func FuzzDocumentReader(f *testing.F) {
	for _, seed := range []string{
		`{"id":"chatcmpl-1","choices":[{"message":{"content":"a","tool_calls":[{"id":"c","function":{"name":"patch","arguments":"{\"input\":\"x\"}"}},{"function":{"name":"f"}}]},"finish_reason":"tool_calls"}],` + usage + `}`,
		`{"choices":[{"index":1},{"index":0,"message":{"refusal":"no","reasoning_content":"r"}}]}`, `{"choices":[{"finish_reason":"error"}]}`,
		`{"error":{"message":"m"}}`, `{"object":"error"}`, `{"detail":"m"}`, `{"choices":1}`, `[`, ``,
	} {
		f.Add([]byte(seed), uint64(0b1011))
	}
	f.Fuzz(func(t *testing.T, response []byte, cuts uint64) { checkResponse(t, response, cuts, false) })
}

func checkResponse(t *testing.T, response []byte, cuts uint64, stream bool) {
	whole := read(stream, response, 0)
	if divided := read(stream, response, cuts); !reflect.DeepEqual(whole, divided) {
		t.Fatalf("%+v, divided %+v", whole, divided)
	}
	checkOrder(t, whole)
	for _, streams := range []bool{true, false} {
		checkWritten(t, whole, streams)
	}
}

// read returns the events of a response, with texts of their own.
func read(stream bool, response []byte, cuts uint64) (all []dialect.Event) {
	r := api.NewReader(&dialect.Encoded{Tools: tools}, stream)
	keep := func(events []dialect.Event) {
		for _, e := range events {
			e.Text = bytes.Clone(e.Text)
			if n := len(all); n > 0 && e.Kind == dialect.PartDelta && all[n-1].Kind == dialect.PartDelta && all[n-1].Part == e.Part {
				all[n-1].Text = append(all[n-1].Text, e.Text...)
				continue
			}
			all = append(all, e)
		}
	}
	for _, chunk := range wiretest.Chunks(response, cuts) {
		chunk = bytes.Clone(chunk)
		keep(r.Read(nil, chunk))
		clear(chunk)
	}
	keep(r.End(nil))
	return all
}

// checkOrder fails unless events keep to the order that their kinds promise, and no part of text is empty (CHT-1).
func checkOrder(t *testing.T, events []dialect.Event) {
	open, started, texts := map[int]dialect.PartType{}, 0, map[int]string{}
	for i, e := range events {
		kind, isOpen := open[e.Part]
		switch e.Kind {
		case dialect.PartStarted:
			if e.Part != started || (e.Type == dialect.CallPart) != (e.Call != nil) || e.Call != nil && (e.Call.ID == "" || e.Call.Name.Name == "") {
				t.Fatalf("%d: %+v", i, e)
			}
			started++
			open[e.Part] = e.Type
		case dialect.PartDelta, dialect.PartEnded:
			if !isOpen || kind != e.Type {
				t.Fatalf("%d: %+v, open %v", i, e, open)
			}
			texts[e.Part] += string(e.Text)
			if e.Kind == dialect.PartEnded {
				delete(open, e.Part)
				if e.Type != dialect.CallPart && texts[e.Part] == "" {
					t.Fatalf("%d: an empty part: %+v", i, e)
				}
			}
		case dialect.Finished:
			if len(open) > 0 {
				t.Fatalf("%v are open at the end", open)
			}
		}
		if last := e.Kind == dialect.Finished || e.Kind == dialect.Failed; last != (i == len(events)-1) {
			t.Fatalf("%d of %d: %+v", i, len(events), e)
		}
	}
}

// checkWritten fails unless a client gets a complete stream, or a document, for events.
func checkWritten(t *testing.T, events []dialect.Event, stream bool) {
	turn := &dialect.Turn{Model: "m", Stream: stream, StreamUsage: true, Effort: dialect.Effort{Show: true}}
	w := api.NewWriter(dialect.ResponseOptions{Turn: turn})
	var out []byte
	for i := range events {
		out = w.Write(out, &events[i])
	}
	last := events[len(events)-1]
	failed := last.Kind == dialect.Failed
	if !stream {
		if failed != (len(out) == 0) || !failed && !json.Valid(out) {
			t.Fatalf("wrote %s", out)
		}
		return
	}
	m := api.NewStreamMeter()
	m.Write(out)
	if !m.Complete() || (m.Failure() != "") != failed || m.Usage() != last.Usage {
		t.Fatalf("complete %v, failure %q, %+v: %s", m.Complete(), m.Failure(), m.Usage(), out)
	}
	if strings.HasSuffix(string(out), done) == failed {
		t.Fatalf("failed %v: %s", failed, out)
	}
	for pos := 0; pos < len(out); {
		e, ended := wire.NextEvent(out, pos)
		if !ended || string(e.Data) != "[DONE]" && !json.Valid(e.Data) {
			t.Fatalf("%s in %s", e.Data, out)
		}
		pos = e.End
	}
}
