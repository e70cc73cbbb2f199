package dialect_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"shunt/internal/dialect"
)

// FuzzTranslate: whatever a client sends, each upstream gets a request that is valid in its dialect, or the client gets a reason
// (DIA-1, DIA-5).
func FuzzTranslate(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range archive.Files {
			if section.Name == "request.json" {
				f.Add(unseal(section.Data))
			}
		}
	}
	for _, seed := range []string{
		`{"model":"m","messages":[{"role":"user","content":"a"}],"output_config":{"format":{"type":"json_schema"}}}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"\""}},{"type":"tool_use","id":"","name":"","input":{}},{"type":"thinking"}]}]}`,
		`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"\""}}]}]},{"role":"system","content":""}]}`,
	} {
		f.Add([]byte(seed))
	}
	to := &dialect.Target{Model: "m", Origin: dialect.Origin{Family: "family", Identity: "identity"}, Accepts: dialect.Accepts{
		Sampling: true, ReasoningEffort: true, ReturnsReasoning: true, WebSearch: true,
	}}
	f.Fuzz(func(t *testing.T, body []byte) {
		for client, in := range inbound {
			turn, err := in.ReadTurn(body)
			if err != nil {
				checkRejection(t, err)
				continue
			}
			for upstream, out := range outbound {
				if client == upstream {
					continue // the bytes pass
				}
				encoded, err := out.Encode(turn, to)
				if err != nil {
					checkRejection(t, err)
					continue
				}
				if !json.Valid(encoded.Body) {
					t.Fatalf("%s to %s: %s", client, upstream, encoded.Body)
				}
				if _, err := inbound[upstream].ReadTurn(encoded.Body); err != nil {
					t.Fatalf("%s to %s: %v in %s", client, upstream, err, encoded.Body)
				}
			}
		}
	})
}

// checkRejection fails unless an error is a reason for the client.
func checkRejection(t *testing.T, err error) {
	var rejected *dialect.RequestError
	if !errors.As(err, &rejected) || rejected.Message == "" {
		t.Fatalf("%#v", err)
	}
}
