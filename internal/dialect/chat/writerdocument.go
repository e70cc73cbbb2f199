package chat

import (
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// document is what a client that does not stream gets, so far.
type document struct {
	content, refusal, reasoning []byte
	annotations                 []byte // without the brackets
	calls                       []*toolCall
}

// appendDocument appends the document.
func (w *writer) appendDocument(dst []byte, reason string, usage *dialect.Usage) []byte {
	d := &w.whole
	dst = w.object(dst, "chat.completion")
	dst = append(dst, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	dst = appendTextOrNull(dst, d.content)
	dst = append(dst, `,"refusal":`...)
	dst = appendTextOrNull(dst, d.refusal)
	if len(d.reasoning) > 0 {
		dst = append(dst, `,"reasoning_content":`...)
		dst = wire.AppendQuoted(dst, string(d.reasoning))
	}
	for i, c := range d.calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[{`...)
		} else {
			dst = append(dst, `,{`...)
		}
		dst = c.appendHead(dst)
		dst = append(wire.AppendQuoted(dst, string(c.arguments)), "}}"...)
	}
	if len(d.calls) > 0 {
		dst = append(dst, ']')
	}
	if len(d.annotations) > 0 {
		dst = append(dst, `,"annotations":[`...)
		dst = append(append(dst, d.annotations...), ']')
	}
	dst = append(dst, `},"logprobs":null,"finish_reason":"`+reason+`"}]`...)
	if usage.Known {
		dst = append(dst, `,"usage":`...)
		dst = appendUsage(dst, usage)
	}
	return append(dst, '}')
}

func appendTextOrNull(dst, text []byte) []byte {
	if len(text) == 0 {
		return append(dst, "null"...)
	}
	return wire.AppendQuoted(dst, string(text))
}

// appendUsage appends a usage object, in which the prompt includes the tokens read from the cache and written to it (DIA-9).
func appendUsage(dst []byte, u *dialect.Usage) []byte {
	prompt := u.Input + u.CacheRead + u.CacheCreation
	for _, field := range [...]struct {
		name  string
		value int64
		close string
	}{
		{`{"prompt_tokens":`, prompt, ""},
		{`,"completion_tokens":`, u.Output, ""},
		{`,"total_tokens":`, prompt + u.Output, ""},
		{`,"prompt_tokens_details":{"cached_tokens":`, u.CacheRead, ""},
		{`,"cache_write_tokens":`, u.CacheCreation, "}}"},
	} {
		dst = append(dst, field.name...)
		dst = strconv.AppendInt(dst, field.value, 10)
		dst = append(dst, field.close...)
	}
	return dst
}
