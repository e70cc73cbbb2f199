package messages

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// searchID begins the IDs of searches that shunt writes. Their results lack what this dialect's provider encrypts, so that it
// would reject them (RSP-3b).
const searchID = "srvtoolu_" + dialect.EnvelopeMark

// opening returns the block with which a part begins in a stream.
func (w *writer) opening(p *part) []byte {
	switch p.kind {
	case dialect.ReasoningPart:
		return []byte(`{"type":"thinking","thinking":"","signature":""}`)
	case dialect.CallPart:
		return append(appendCall(nil, p.call), `{}}`...)
	}
	return []byte(`{"type":"text","text":""}`)
}

// appendCall appends a call up to its arguments.
func appendCall(dst []byte, call *dialect.ToolCall) []byte {
	id, name := call.ID, call.Name.Name
	if id == "" {
		id = dialect.ResponseID("toolu_", "")
	}
	if call.Name.Namespace != "" {
		name = call.Name.Namespace + "__" + name
	}
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = wire.AppendQuoted(dst, dialect.ValidID(id, maxToolName))
	dst = append(dst, `,"name":`...)
	dst = wire.AppendQuoted(dst, name)
	return append(dst, `,"input":`...)
}

func appendCitation(dst []byte, c *dialect.Citation) []byte {
	dst = append(dst, `{"type":"web_search_result_location","url":`...)
	dst = wire.AppendQuoted(dst, c.URL)
	dst = append(dst, `,"title":`...)
	dst = wire.AppendQuoted(dst, c.Title)
	dst = append(dst, `,"encrypted_index":"`+dialect.EnvelopeMark+`","cited_text":`...)
	return append(wire.AppendQuoted(dst, c.CitedText), '}')
}

// search writes the two blocks of a search (RSP-4).
func (w *writer) search(dst []byte, s *dialect.WebSearch) []byte {
	id := w.searchID(s)
	dst = append(w.startBlock(dst), `{"type":"server_tool_use","id":"`+id+`","name":"`+searchName+`","input":{}}}`...)
	dst = append(dst, "\n\n"...)
	dst = w.startDelta(dst, `"input_json_delta","partial_json":`)
	dst = wire.AppendQuoted(dst, string(appendQuery(nil, s)))
	dst = w.stopBlock(append(dst, "}}\n\n"...))
	dst = appendResults(w.startBlock(dst), id, s)
	return w.stopBlock(append(dst, "}\n\n"...))
}

// searchID returns a search's ID, of letters, digits and "_".
func (w *writer) searchID(s *dialect.WebSearch) string {
	sum := sha256.Sum256([]byte(w.id + "\x00" + s.ID + "\x00" + strconv.Itoa(w.index)))
	return searchID + hex.EncodeToString(sum[:12])
}

func appendQuery(dst []byte, s *dialect.WebSearch) []byte {
	return append(wire.AppendQuoted(append(dst, `{"query":`...), s.Query), '}')
}

func appendResults(dst []byte, id string, s *dialect.WebSearch) []byte {
	dst = append(dst, `{"type":"web_search_tool_result","tool_use_id":"`+id+`","content":[`...)
	for i := range s.Results {
		if i > 0 {
			dst = append(dst, ',')
		}
		page := &s.Results[i]
		dst = append(dst, `{"type":"web_search_result","url":`...)
		dst = wire.AppendQuoted(dst, page.URL)
		dst = append(dst, `,"title":`...)
		dst = wire.AppendQuoted(dst, page.Title)
		dst = append(dst, `,"encrypted_content":"","page_age":`...)
		if page.PageAge == "" {
			dst = append(dst, `null}`...)
		} else {
			dst = append(wire.AppendQuoted(dst, page.PageAge), '}')
		}
	}
	return append(dst, `]}`...)
}

// document writes the response as one document.
func (w *writer) document(dst []byte, e *dialect.Event) []byte {
	dst = append(w.head(dst), '[')
	for _, p := range w.parts {
		if p.isEmpty() {
			continue
		}
		if w.index > 0 {
			dst = append(dst, ',')
		}
		dst = w.block(dst, p)
		w.index++
	}
	dst = append(dst, `],`...)
	dst = append(appendStop(dst, e), `,"usage":`...)
	return append(appendUsage(dst, e.Usage), '}')
}

// block appends a part as a block of a document.
func (w *writer) block(dst []byte, p *part) []byte {
	switch p.kind {
	case dialect.ReasoningPart:
		dst = append(dst, `{"type":"thinking","thinking":`...)
		dst = wire.AppendQuoted(dst, string(p.text))
		dst = append(dst, `,"signature":`...)
		return append(wire.AppendQuoted(dst, w.signature(p)), '}')
	case dialect.CallPart:
		dst = appendCall(dst, p.call)
		arguments := string(p.text)
		if p.call.Custom {
			arguments = p.wrapped() + `"}`
		}
		return append(dialect.AppendArguments(dst, arguments), '}')
	case dialect.SearchPart:
		id := w.searchID(p.last.Search)
		dst = append(dst, `{"type":"server_tool_use","id":"`+id+`","name":"`+searchName+`","input":`...)
		dst = append(appendQuery(dst, p.last.Search), `},`...)
		return appendResults(dst, id, p.last.Search)
	}
	dst = append(dst, `{"type":"text","text":`...)
	dst = wire.AppendQuoted(dst, string(p.text))
	if len(p.sources) > 0 {
		dst = append(dst, `,"citations":[`...)
		for i := range p.sources {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCitation(dst, &p.sources[i])
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

var stopReasons = [...]string{
	dialect.EndTurn: "end_turn", dialect.StopMaxTokens: "max_tokens", dialect.StopToolUse: "tool_use",
	dialect.StopRefusal: "refusal", dialect.StopSequence: "stop_sequence", dialect.StopPause: "pause_turn",
}

// appendStop appends the members that say why the response ends (RSP-2).
func appendStop(dst []byte, e *dialect.Event) []byte {
	dst = append(dst, `"stop_reason":"`+stopReasons[e.Stop]+`","stop_sequence":`...)
	if e.Stop != dialect.StopSequence {
		return append(dst, "null"...)
	}
	return wire.AppendQuoted(dst, e.StopSequence)
}

func appendUsage(dst []byte, u dialect.Usage) []byte {
	for _, field := range [...]struct {
		name  string
		count int64
	}{
		{`{"input_tokens":`, u.Input},
		{`,"cache_creation_input_tokens":`, u.CacheCreation},
		{`,"cache_read_input_tokens":`, u.CacheRead},
		{`,"output_tokens":`, u.Output},
	} {
		dst = strconv.AppendInt(append(dst, field.name...), field.count, 10)
	}
	return append(dst, '}')
}
