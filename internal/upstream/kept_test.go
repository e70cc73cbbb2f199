package upstream

import (
	"io"
	"strings"
	"testing"

	"shunt/internal/http1"
)

// WIRE-10: what is read of a body to classify a response is still relayed.
func TestPeek(t *testing.T) {
	const text = "a body"
	response := &http1.Response{Body: io.NopCloser(strings.NewReader(text))}
	if head := peek(response); string(head) != text {
		t.Errorf("peek: %q", head)
	}
	if rest, err := io.ReadAll(response.Body); string(rest) != text || err != nil {
		t.Errorf("the body is %q afterwards (%v)", rest, err)
	}
}
