package responses

import (
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// response appends the response object; last is the event that ends the response, or nil.
func (w *writer) response(dst []byte, status string, last *dialect.Event) []byte {
	dst = append(dst, `{"id":"resp_`...)
	dst = append(dst, w.id...)
	dst = append(dst, `","object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, w.o.Created.Unix(), 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, status...)
	dst = append(dst, `","error":`...)
	if last != nil && last.Err != nil {
		dst = dialect.AppendOpenError(dst, last.Err)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"incomplete_details":`...)
	if status == "incomplete" {
		dst = append(dst, `{"reason":"`...)
		dst = append(dst, incompleteReason(last.Stop, w.output)...)
		dst = append(dst, `"}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"instructions":null,"max_output_tokens":null,"model":`...)
	dst = wire.AppendQuoted(dst, w.o.Turn.Model)
	dst = append(dst, `,"output":[`...)
	if last != nil {
		for i, item := range w.output {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
	}
	dst = append(dst, `],"parallel_tool_calls":`...)
	dst = strconv.AppendBool(dst, !w.o.Turn.OneCall)
	dst = append(dst, `,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":null,"truncation":"disabled","usage":`...)
	if last == nil || !last.Usage.Known {
		dst = append(dst, "null"...)
	} else {
		dst = appendUsage(dst, &last.Usage)
	}
	return append(dst, `,"metadata":{}}`...)
}

// appendUsage appends a usage object, in which the input includes the tokens read from the cache and written to it (DIA-9).
func appendUsage(dst []byte, u *dialect.Usage) []byte {
	input := u.Input + u.CacheRead + u.CacheCreation
	for _, field := range [...]struct {
		name  string
		value int64
		close string
	}{
		{`{"input_tokens":`, input, ""},
		{`,"input_tokens_details":{"cached_tokens":`, u.CacheRead, ""},
		{`,"cache_write_tokens":`, u.CacheCreation, "}"},
		{`,"output_tokens":`, u.Output, ""},
		{`,"output_tokens_details":{"reasoning_tokens":`, 0, "}"},
		{`,"total_tokens":`, input + u.Output, "}"},
	} {
		dst = append(dst, field.name...)
		dst = strconv.AppendInt(dst, field.value, 10)
		dst = append(dst, field.close...)
	}
	return dst
}

// append appends the item as it is so far.
func (i *item) append(dst []byte) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, i.id...)
	dst = append(dst, `","type":"`...)
	status := "in_progress"
	if i.done {
		status = "completed"
	}
	switch i.kind {
	case dialect.TextPart, dialect.RefusalPart:
		dst = append(dst, `message","status":"`+status+`","role":"assistant","content":[`...)
		if i.done {
			dst = i.appendContent(dst)
		}
		dst = append(dst, ']')
	case dialect.ReasoningPart:
		dst = append(dst, `reasoning","summary":[`...)
		if i.done && len(i.text) > 0 {
			dst = i.appendContent(dst)
		}
		dst = append(dst, ']')
		if i.token != "" {
			dst = append(dst, `,"encrypted_content":`...)
			dst = wire.AppendQuoted(dst, i.token)
		}
	case dialect.CallPart:
		dst = i.appendCall(dst, status)
	case dialect.SearchPart:
		dst = append(dst, `web_search_call","status":"`+status+`","action":{"type":"search","query":`...)
		query := ""
		if i.search != nil {
			query = i.search.Query
		}
		dst = append(wire.AppendQuoted(dst, query), '}')
	}
	return append(dst, '}')
}

func (i *item) appendCall(dst []byte, status string) []byte {
	kind, member := "function_call", "arguments"
	if i.call.Custom {
		kind, member = "custom_tool_call", "input"
	}
	if i.done && !i.call.Custom && !wire.Valid(i.text) {
		status = "incomplete" // the response was truncated, and so the call must not run
	}
	dst = append(dst, kind+`","status":"`+status+`","call_id":`...)
	dst = wire.AppendQuoted(dst, i.call.ID)
	if i.call.Name.Namespace != "" {
		dst = append(dst, `,"namespace":`...)
		dst = wire.AppendQuoted(dst, i.call.Name.Namespace)
	}
	dst = append(dst, `,"name":`...)
	dst = wire.AppendQuoted(dst, i.call.Name.Name)
	dst = append(dst, `,"`+member+`":`...)
	if !i.done {
		return append(dst, `""`...)
	}
	return wire.AppendQuoted(dst, string(i.text))
}

// appendContent appends the piece of content that a text, a refusal or a summary consists of.
func (i *item) appendContent(dst []byte) []byte {
	var text []byte
	if i.done {
		text = i.text
	}
	switch i.kind {
	case dialect.RefusalPart:
		dst = append(dst, `{"type":"refusal","refusal":`...)
		return append(wire.AppendQuoted(dst, string(text)), '}')
	case dialect.ReasoningPart:
		dst = append(dst, `{"type":"summary_text","text":`...)
		return append(wire.AppendQuoted(dst, string(text)), '}')
	}
	dst = append(dst, `{"type":"output_text","text":`...)
	dst = wire.AppendQuoted(dst, string(text))
	dst = append(dst, `,"annotations":[`...)
	if i.done {
		for n := range i.citations {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = i.appendCitation(dst, &i.citations[n])
		}
	}
	return append(dst, `],"logprobs":[]}`...)
}

// appendCitation appends a citation, which counts for the whole text so far.
func (i *item) appendCitation(dst []byte, c *dialect.Citation) []byte {
	dst = append(dst, `{"type":"url_citation","start_index":0,"end_index":`...)
	dst = strconv.AppendInt(dst, int64(len([]rune(string(i.text)))), 10)
	dst = append(dst, `,"url":`...)
	dst = wire.AppendQuoted(dst, c.URL)
	dst = append(dst, `,"title":`...)
	return append(wire.AppendQuoted(dst, c.Title), '}')
}
