package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The bodies have the reported sizes and the shape of a coding session's requests.
func TestRequestBody(t *testing.T) {
	for _, size := range []int{2_000, 20_000, 115_000, 700_000} {
		body := requestBody(size, true)
		if len(body) != size {
			t.Errorf("%d bytes: %d", size, len(body))
		}
		var r request
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !r.Stream || len(r.Messages) == 0 || len(r.Tools) == 0 || !bytes.HasPrefix(body, []byte(`{"model":"`)) {
			t.Errorf("%d bytes: %.200s", size, body)
		}
		if !bytes.Equal(body, requestBody(size, true)) {
			t.Errorf("%d bytes: not reproducible", size)
		}
		if size > 100_000 {
			checkLong(t, body, r)
		}
		t.Logf("%d bytes: %d messages, system %d bytes, %d tools of %d bytes, %d escapes", size, len(r.Messages), len(encode(r.System)), len(r.Tools), len(encode(r.Tools)), bytes.Count(body, []byte(`\`)))
	}
}

// checkLong checks what only a large body has.
func checkLong(t *testing.T, body []byte, r request) {
	t.Helper()
	kinds := map[string]int{}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			kinds[b.Type]++
		}
	}
	for _, kind := range []string{"text", "thinking", "tool_use", "tool_result"} {
		if kinds[kind] == 0 {
			t.Errorf("%d bytes: no block of type %s", len(body), kind)
		}
	}
	if len(r.Tools) != toolCount || len(encode(r.System)) < 10_000 {
		t.Errorf("%d bytes: %d tools, a system prompt of %d bytes", len(body), len(r.Tools), len(encode(r.System)))
	}
	allNested := 0
	for _, tool := range r.Tools {
		nested := 0
		for _, p := range tool.InputSchema.Properties {
			if len(p.Properties) > 0 || p.Items != nil {
				nested++
			}
		}
		allNested += nested
		if len(tool.InputSchema.Properties) < 3 || len(tool.Description) < 300 {
			t.Errorf("%d bytes: %s has %d properties, %d of them nested, and %d bytes of description", len(body), tool.Name, len(tool.InputSchema.Properties), nested, len(tool.Description))
		}
	}
	if allNested < 5 {
		t.Errorf("%d bytes: %d properties are nested", len(body), allNested)
	}
	// As measured in Claude Code's first turn; a file of code has as many.
	if quotes := len(body) / bytes.Count(body, []byte(`"`)); quotes < 40 || quotes > 60 {
		t.Errorf("%d bytes: a quote every %d bytes", len(body), quotes)
	}
	for _, escaped := range []string{`\n`, `\t`, `\"`} {
		if bytes.Count(body, []byte(escaped)) < len(body)/5000 {
			t.Errorf("%d bytes: hardly any %s", len(body), escaped)
		}
	}
	if share := float64(bytes.Count(body, []byte(`\`))) / float64(len(body)); share < 0.01 || share > 0.1 {
		t.Errorf("%d bytes: %.1f %% are the start of an escape", len(body), share*100)
	}
}

func TestRequestBodyWithoutStream(t *testing.T) {
	if body := requestBody(2_000, false); len(body) != 2_000 || bytes.Contains(body, []byte(`"stream"`)) {
		t.Errorf("%d bytes: %s", len(body), body)
	}
}
