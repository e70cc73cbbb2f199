package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/wire"
	"shunt/internal/wire/wiretest"
)

// FuzzScan: the scan agrees with a plain decoder (RTE-2, INB-6), and its edits change nothing but the model (WIRE-5).
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"model":"m"}`, `{"model":"m","stream":true,"prompt_cache_key":"k"}`, `{"mod\u0065l":"m","prompt_cache_key":"\u006b\ud83d"}`,
		`{"model":"m","prompt_cache_key":"a","prompt_cache_key":null}`, `{"model":"m","model":"n"}`, `{"input":[{"model":"no"}],"model":"m","stream":"true"} `,
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

// FuzzCuts: whatever is cut from a valid body, it stays valid, and only reasoning is gone (RSP-3b, GPT-10b).
func FuzzCuts(f *testing.F) {
	foreign := dialect.Seal(&dialect.Reasoning{Opaque: "x", Origin: dialect.Origin{Family: "a"}})
	for _, seed := range []string{
		`{"input":[{"type":"reasoning","encrypted_content":"` + foreign + `"},{"type":"message"}]}`,
		`{"input": [ {"type":"reasoning"} , {"type":"reasoning"} ,1, {"type":"reasoning","encrypted_content":"` + foreign + `"} ] }`,
		`{"input":"hi"}`, `{"input":[]}`, `{"input":[{"type":"message","content":"` + foreign + `"}],"input":[{"type":"reasoning"}]}`, `{"input":[[{"type":"reasoning"}]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ours, dropped := api.AppendCuts(nil, body, dialect.Origin{Family: "b"})
		all := api.AppendReasoningCuts(nil, body)
		if len(ours) != dropped || dropped > len(all) {
			t.Fatalf("%d edits drop %d of %d", len(ours), dropped, len(all))
		}
		if (len(all) > 0) != api.CarriesReasoning(body) {
			t.Fatalf("%d cuts, carries reasoning: %v", len(all), api.CarriesReasoning(body))
		}
		if !json.Valid(body) {
			return
		}
		before := itemsOf(body)
		for _, edits := range [][]wire.Edit{ours, all} {
			segments, length := wire.Splice(body, edits...)
			cut := bytes.Join(segments, nil)
			if int64(len(cut)) != length || !json.Valid(cut) || len(before)-len(itemsOf(cut)) != len(edits) {
				t.Fatalf("%d edits turn %s into %s", len(edits), body, cut)
			}
		}
	})
}

// itemsOf returns the items of the last member input.
func itemsOf(body []byte) []json.RawMessage {
	var items []json.RawMessage
	if span, ok := wire.Member(body, "input"); ok && json.Unmarshal(span.Of(body), &items) != nil {
		return nil
	}
	return items
}

// FuzzReadTurn: whatever a client sends is read or rejected with a reason, and what is read is in normal form and can be sent to
// an upstream as valid JSON, which reads as the same conversation (INB-1).
func FuzzReadTurn(f *testing.F) {
	sealed := dialect.Seal(&dialect.Reasoning{ID: "rs", Opaque: "x", Origin: origin})
	for _, seed := range []string{
		``, `{}`, `{"model":"m","input":"hi"}`, `{"model":"m","input":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"input_text","text":"a"}]}]}`,
		`{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{"},{"type":"function_call_output","call_id":"c","output":"o"},{"type":"function_call_output","call_id":"c","output":[]}]}`,
		`{"model":"m","tools":[{"type":"custom","name":"p"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},{"type":"web_search"}],"input":[{"type":"custom_tool_call","call_id":"c","name":"p","input":"x"}]}`,
		`{"model":"m","input":[{"type":"reasoning","summary":[{"text":"s"}],"encrypted_content":"` + sealed + `"},{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_image","image_url":"data:image/png;base64,A\""},{"type":"input_file","file_data":"AA","filename":"f"}]}]}`,
		`{"model":"m","reasoning":{"effort":"high"},"text":{"format":{"type":"json_schema","schema":{}}},"tool_choice":{"type":"function","name":"f"},"input":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		turn, err := api.ReadTurn(body)
		if err != nil {
			var rejected *dialect.RequestError
			if !errors.As(err, &rejected) || rejected.Message == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		if again := dialect.Normalize(turn.Messages); len(again) != len(turn.Messages) {
			t.Fatalf("%s is not in normal form", body)
		}
		encoded, err := api.Encode(turn, &dialect.Target{Model: "m", Origin: origin, Accepts: dialect.Accepts{Sampling: true, WebSearch: true}})
		if err != nil || !json.Valid(encoded.Body) {
			t.Fatalf("%s becomes %s (%v)", body, encoded.Body, err)
		}
		second, err := api.ReadTurn(encoded.Body)
		if err != nil {
			t.Fatalf("%s becomes %s: %v", body, encoded.Body, err)
		}
		third, err := api.Encode(second, &dialect.Target{Model: "m", Origin: origin, Accepts: dialect.Accepts{Sampling: true, WebSearch: true}})
		if err != nil || bytes.Count(third.Body, []byte(`"call_id"`)) != bytes.Count(encoded.Body, []byte(`"call_id"`)) {
			t.Fatalf("%s becomes %s, and that %s", body, encoded.Body, third.Body)
		}
	})
}

var origin = dialect.Origin{Family: "codex", Identity: "1"}

// FuzzReader: the events of a response do not depend on its division into chunks (DIA-3), and keep to the order that their kinds
// promise; what is written for them is a well-formed stream (INB-2).
func FuzzReader(f *testing.F) {
	item := func(name, item string) string {
		return event("response.output_item."+name, `{"type":"response.output_item.`+name+`","output_index":0,"item":`+item+`}`)
	}
	for _, seed := range []string{
		created + delta + completed, created + delta, completed,
		item("added", `{"type":"function_call","call_id":"c","name":"f"}`) + event("response.function_call_arguments.delta", `{"output_index":0,"delta":"{\"a"}`) + completed,
		item("done", `{"type":"reasoning","summary":[{"text":"a"},{"text":"b\n"}],"encrypted_content":"x"}`) + delta + event("response.failed", `{"response":{"error":{"code":"slow_down"}}}`),
		item("done", `{"type":"web_search_call","action":{"query":"q","sources":[{"url":"u"}]}}`) + event("response.incomplete", `{"response":{"status":"incomplete","incomplete_details":{"reason":"x"}}}`),
		event("response.refusal.delta", `{"output_index":1,"content_index":0,"delta":"n\u00e9"}`) + item("done", `{"type":"message","content":[{"type":"output_text","text":"t","annotations":[{"type":"url_citation","url":"u"}]}]}`) + "data: [DONE]\n\n",
		`{"id":"resp_1","status":"completed","output":[{"type":"custom_tool_call","call_id":"c","name":"p","input":"x"}],"usage":{"input_tokens":1}}`,
		`{"error":{"message":"m"}}`, "data: {\n\n",
	} {
		f.Add([]byte(seed), uint64(0b1011))
	}
	f.Fuzz(func(t *testing.T, response []byte, cuts uint64) {
		for _, stream := range []bool{true, false} {
			whole := read(stream, response, 0)
			if divided := read(stream, response, cuts); !reflect.DeepEqual(whole, divided) {
				t.Fatalf("stream %v: %+v, divided %+v", stream, whole, divided)
			}
			checkOrder(t, whole)
			for _, streams := range []bool{true, false} {
				checkWritten(t, whole, streams)
			}
		}
	})
}

// read returns the events of a response, with texts of their own.
func read(stream bool, response []byte, cuts uint64) (all []dialect.Event) {
	r := api.NewReader(&dialect.Encoded{}, stream)
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

// checkOrder fails unless events keep to the order that their kinds promise.
func checkOrder(t *testing.T, events []dialect.Event) {
	open, started := map[int]dialect.PartType{}, 0
	for i, e := range events {
		kind, isOpen := open[e.Part]
		switch e.Kind {
		case dialect.PartStarted:
			if e.Part != started || (e.Type == dialect.CallPart) != (e.Call != nil) {
				t.Fatalf("%d: %+v", i, e)
			}
			started++
			open[e.Part] = e.Type
		case dialect.PartDelta, dialect.Cited, dialect.PartEnded:
			if !isOpen || kind != e.Type || e.Kind == dialect.PartEnded && (e.Type == dialect.SearchPart) != (e.Search != nil) {
				t.Fatalf("%d: %+v, open %v", i, e, open)
			}
			if e.Kind == dialect.PartEnded {
				delete(open, e.Part)
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
	w := api.NewWriter(dialect.ResponseOptions{Turn: &dialect.Turn{Model: "m", Stream: stream, Effort: dialect.Effort{Show: true}}})
	var out []byte
	for i := range events {
		out = w.Write(out, &events[i])
	}
	failed := events[len(events)-1].Kind == dialect.Failed
	if !stream {
		if failed != (len(out) == 0) || !failed && !json.Valid(out) {
			t.Fatalf("wrote %s", out)
		}
		return
	}
	m := api.NewStreamMeter()
	m.Write(out)
	if !m.Complete() || (m.Failure() != "") != failed {
		t.Fatalf("complete %v, failure %q: %s", m.Complete(), m.Failure(), out)
	}
	for pos, sequence := 0, 0; pos < len(out); sequence++ {
		e, ended := wire.NextEvent(out, pos)
		var data struct {
			Type           string
			SequenceNumber int `json:"sequence_number"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || !ended || data.Type != e.Name || data.SequenceNumber != sequence {
			t.Fatalf("event %d: %s %s (%v)", sequence, e.Name, e.Data, err)
		}
		pos = e.End
	}
}
