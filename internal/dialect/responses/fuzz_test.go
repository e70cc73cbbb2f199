package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/wire"
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
