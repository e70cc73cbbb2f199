package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The bodies of Codex have about the reported sizes, the shape of its turns, and the same bytes each time.
func TestCodexBody(t *testing.T) {
	for _, size := range []int{40_000, 400_000} {
		body := codexBody(size)
		if len(body) < size || len(body) > size+size/2 {
			t.Errorf("%d bytes, want about %d", len(body), size)
		}
		var r codexRequest
		if err := json.Unmarshal(body, &r); err != nil || !r.Stream || len(r.Tools) == 0 || len(r.Input) < 5 {
			t.Errorf("%d bytes: %v %.200s", size, err, body)
		}
		if again := codexBody(size); !bytes.Equal(body, again) {
			t.Errorf("%d bytes: not reproducible", size)
		}
		if small := compressed(body); len(small) >= len(body) {
			t.Errorf("%d bytes are compressed to %d", len(body), len(small))
		}
	}
}
