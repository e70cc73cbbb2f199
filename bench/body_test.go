package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The bodies have the size that the report claims and are what a gateway expects of a coding session.
func TestRequestBody(t *testing.T) {
	for _, size := range sizes {
		body := requestBody(size.bytes)
		if off := len(body) - size.bytes; off < -20 || off > 20 {
			t.Errorf("%s: %d bytes", size.name, len(body))
		}
		var r request
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatalf("%s: %v", size.name, err)
		}
		if !r.Stream || len(r.Messages) == 0 || len(r.Tools) == 0 || !bytes.HasPrefix(body, []byte(`{"model":"`)) {
			t.Errorf("%s: %.200s", size.name, body)
		}
		if !bytes.Equal(body, requestBody(size.bytes)) {
			t.Errorf("%s: not reproducible", size.name)
		}
	}
}
