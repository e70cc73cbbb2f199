package chat_test

import (
	"bytes"
	"strings"
	"testing"

	"shunt/internal/dialect"
)

// OBS-1: what the stream says about its end, in whichever form vendors say it.
func TestStreamMeter(t *testing.T) {
	for _, c := range []struct {
		name, stream, failure string
		complete              bool
		usage                 dialect.Usage
	}{
		{"the end", stop("stop") + done, "", true, dialect.Usage{}},
		{"no end", stop("stop"), "", false, dialect.Usage{}},
		{"the end in a text", chunk(`"content":"data: [DONE]"`), "", false, dialect.Usage{}},
		{"the end after a byte order mark, without a space", "\ufeffdata:[DONE]\r\n\r\n", "", true, dialect.Usage{}},
		{"an error", `data: {"error": {"message":"m","type":"server_error","code":null}}` + "\n\n", "server_error", true, dialect.Usage{}},
		{"its code is more exact", `data: {"error":{"type":"t","code":"rate_limit_exceeded"}}` + "\n\n", "rate_limit_exceeded", true, dialect.Usage{}},
		{"an error that is a text", `data: {"error":"no"}` + "\n\n", "unknown", true, dialect.Usage{}},
		{"an error object", `data: {"object":"error","message":"m"}` + "\n\n" + done, "unknown", true, dialect.Usage{}},
		{"no error", `data: {"error": null , "usage": {"prompt_tokens":3,"completion_tokens":2} }` + "\n\n", "", false, dialect.Usage{Input: 3, Output: 2, Known: true}},
		{"usage in every chunk", strings.Repeat(`data: {"usage":{"prompt_tokens":3,"completion_tokens":1}}`+"\n\n", 2) + `data: {"usage":null}` + "\n\n" + counted + done, "", true, dialect.Usage{Input: 20, CacheRead: 10, Output: 44, Known: true}},
		{"nothing after the end", done + counted, "", true, dialect.Usage{}},
	} {
		m := api.NewStreamMeter()
		m.Write([]byte(c.stream))
		if m.Complete() != c.complete || m.Failure() != c.failure || m.Usage() != c.usage {
			t.Errorf("%s: complete %v, failure %q, %+v", c.name, m.Complete(), m.Failure(), m.Usage())
		}
	}
}

// OBS-1: a meter holds little, however long a line is.
func TestStreamMeterIsBounded(t *testing.T) {
	m := api.NewStreamMeter()
	piece := bytes.Repeat([]byte("a"), 1<<16)
	allocated := testing.AllocsPerRun(100, func() { m.Write(piece) })
	m.Write([]byte("\n\ndata: {\"error\":\""))
	allocated += testing.AllocsPerRun(100, func() { m.Write(piece) })
	if allocated > 0 {
		t.Errorf("%v allocations for each piece of a line", allocated)
	}
}
