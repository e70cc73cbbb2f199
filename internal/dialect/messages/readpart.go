package messages

import (
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// The message of what only this dialect's upstreams know (DIA-5).
const (
	elsewhere = " cannot be sent to an upstream of another dialect"

	documentByID = "a document by file id" + elsewhere
	imageByID    = "an image by file id" + elsewhere
	unknownBlock = "a block of this type" + elsewhere
)

// blockMembers are the members of a content block, of whatever type.
type blockMembers struct {
	kind, text, id, name, input, toolUseID, content, source, title, context, thinking, signature, data, isError wire.Span
}

// blockMembers reads the members of the block at i, and returns where it ends.
func (r *turnReader) blockMembers(i int) (b blockMembers, end int) {
	if r.src[i] != '{' {
		return b, wire.SkipValue(r.src, i)
	}
	members := wire.ObjectAt(r.src, i)
	for members.Next() {
		var field *wire.Span
		switch {
		case members.Is("type"):
			field = &b.kind
		case members.Is("text"):
			field = &b.text
		case members.Is("id"):
			field = &b.id
		case members.Is("name"), members.Is("tool_name"):
			field = &b.name
		case members.Is("input"):
			field = &b.input
		case members.Is("tool_use_id"):
			field = &b.toolUseID
		case members.Is("content"):
			field = &b.content
		case members.Is("source"):
			field = &b.source
		case members.Is("title"):
			field = &b.title
		case members.Is("context"):
			field = &b.context
		case members.Is("thinking"):
			field = &b.thinking
		case members.Is("signature"):
			field = &b.signature
		case members.Is("data"):
			field = &b.data
		case members.Is("is_error"):
			field = &b.isError
		default:
			continue
		}
		*field = members.Value
	}
	return b, members.End()
}

// appendPart appends what a block of a message is in neutral form.
func (r *turnReader) appendPart(parts []dialect.Part, b *blockMembers) []dialect.Part {
	switch kind := r.string(b.kind); kind {
	case "tool_use":
		return append(parts, r.toolCall(b))
	case "tool_result":
		result := &dialect.ToolResult{CallID: r.string(b.toolUseID), Failed: string(b.isError.Of(r.src)) == "true"}
		result.Parts = r.resultParts(b.content)
		return append(parts, result)
	case "thinking":
		return append(parts, reasoning(r.string(b.signature), r.string(b.thinking), false))
	case "redacted_thinking":
		return append(parts, reasoning(r.string(b.data), "", true))
	case "server_tool_use":
		if r.string(b.name) == searchName {
			return append(parts, &dialect.WebSearch{ID: r.string(b.id), Query: r.string(r.member(b.input, "query"))})
		}
		return parts
	case "web_search_tool_result":
		r.searchResults(parts, b)
		return parts
	default:
		return r.appendContent(parts, kind, b)
	}
}

// appendContent appends what a block is that a result may contain too.
func (r *turnReader) appendContent(parts []dialect.Part, kind string, b *blockMembers) []dialect.Part {
	switch kind {
	case "text":
		return appendText(parts, r.string(b.text))
	case "image":
		return append(parts, r.image(b.source))
	case "document":
		return append(appendText(parts, r.string(b.context)), r.document(b))
	case "search_result":
		parts = appendText(parts, r.string(b.title)+"\n"+r.string(b.source))
		return append(parts, r.resultParts(b.content)...)
	case "tool_reference":
		return appendText(parts, r.string(b.name))
	}
	// What tools of the provider's did is dropped, as those tools are.
	if !strings.HasSuffix(kind, "_tool_use") && !strings.HasSuffix(kind, "_tool_result") {
		r.fail(unknownBlock)
	}
	return parts
}

func appendText(parts []dialect.Part, text string) []dialect.Part {
	if text == "" {
		return parts
	}
	return append(parts, dialect.Text{Text: text})
}

// resultParts reads the content of a result: a string, blocks, or nothing.
func (r *turnReader) resultParts(v wire.Span) []dialect.Part {
	if r.isString(v) {
		return appendText(nil, r.string(v))
	}
	var parts []dialect.Part
	list := wire.ArrayAt(r.src, v.Start)
	if v == (wire.Span{}) || list.Err != nil {
		return nil
	}
	for r.inner = 0; list.Next(); r.inner++ {
		b, _ := r.blockMembers(list.Value.Start)
		parts = r.appendContent(parts, r.string(b.kind), &b)
	}
	r.inner = -1
	return parts
}

func (r *turnReader) toolCall(b *blockMembers) *dialect.ToolCall {
	call := &dialect.ToolCall{ID: r.string(b.id), Name: dialect.ToolName{Name: r.string(b.name)}, Arguments: "{}"}
	raw := b.input.Of(r.src)
	switch {
	case call.Name.Name == "":
		r.fail("a tool_use needs a name")
	case len(raw) > 0 && raw[0] != '{' && string(raw) != "null":
		r.fail("the input of a tool_use must be an object")
	case len(raw) > 0 && raw[0] == '{':
		if wire.IsCompact(raw) {
			call.Arguments = r.text[b.input.Start:b.input.End]
		} else {
			r.scratch = wire.AppendCompact(r.scratch[:0], raw)
			call.Arguments = string(r.scratch)
		}
	}
	return call
}

// reasoning returns the reasoning that a token stands for. That of a provider whose token is not in an envelope of shunt's is
// of no use to another one: its origin is unknown.
func reasoning(token, text string, redacted bool) *dialect.Reasoning {
	r, ok := dialect.Open(token)
	if !ok {
		r = &dialect.Reasoning{Redacted: redacted}
	}
	r.Text = text
	return r
}

func (r *turnReader) image(source wire.Span) *dialect.Image {
	image := &dialect.Image{Member: r.at()}
	switch r.string(r.member(source, "type")) {
	case "base64":
		image.MediaType, image.Data = r.string(r.member(source, "media_type")), r.string(r.member(source, "data"))
	case "url":
		image.URL = r.string(r.member(source, "url"))
	default:
		r.fail(imageByID)
	}
	return image
}

func (r *turnReader) document(b *blockMembers) *dialect.File {
	file := &dialect.File{Name: r.string(b.title), Member: r.at()}
	switch r.string(r.member(b.source, "type")) {
	case "base64":
		file.MediaType, file.Data = r.string(r.member(b.source, "media_type")), r.string(r.member(b.source, "data"))
	case "url":
		file.URL = r.string(r.member(b.source, "url"))
	case "text":
		file.MediaType, file.Text = "text/plain", r.string(r.member(b.source, "data"))
	case "content":
		file.MediaType, file.Text = "text/plain", r.plainText(r.member(b.source, "content"))
	default:
		r.fail(documentByID)
	}
	return file
}

// plainText returns the text of a document that consists of blocks.
func (r *turnReader) plainText(content wire.Span) string {
	var texts []string
	for _, part := range r.resultParts(content) {
		text, ok := part.(dialect.Text)
		if !ok {
			r.fail("a document with images" + elsewhere)
			return ""
		}
		texts = append(texts, text.Text)
	}
	return strings.Join(texts, "\n")
}

// searchResults completes the search that a block has the results of.
func (r *turnReader) searchResults(parts []dialect.Part, b *blockMembers) {
	id := r.string(b.toolUseID)
	for _, part := range parts {
		search, ok := part.(*dialect.WebSearch)
		if !ok || search.ID != id {
			continue
		}
		for list := wire.ArrayAt(r.src, b.content.Start); list.Next(); {
			search.Results = append(search.Results, dialect.SearchResult{
				URL:     r.string(r.member(list.Value, "url")),
				Title:   r.string(r.member(list.Value, "title")),
				PageAge: r.string(r.member(list.Value, "page_age")),
			})
		}
	}
}
