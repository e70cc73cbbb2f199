package messages

import (
	"bytes"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// AppendCuts implements [dialect.Passing]: it removes thinking with an envelope for another origin, and the searches and
// citations that shunt wrote, which no provider accepts (RSP-3b). A message that has no other block goes too.
func (Dialect) AppendCuts(dst []wire.Edit, body []byte, to dialect.Origin) (_ []wire.Edit, dropped int) {
	if !bytes.Contains(body, []byte(dialect.EnvelopeMark)) {
		return dst, 0
	}
	c := cutter{edits: dst, body: body, cuts: func(b *cutBlock) bool {
		return b.isSearch() || dialect.IsForeign(b.token, to)
	}}
	c.messages()
	return c.edits, c.dropped
}

// AppendReasoningCuts implements [dialect.Passing].
func (Dialect) AppendReasoningCuts(dst []wire.Edit, body []byte) []wire.Edit {
	c := cutter{edits: dst, body: body, cuts: func(b *cutBlock) bool { return b.reasoning || b.isSearch() }}
	c.messages()
	return c.edits
}

// cutBlock is what decides whether a block is cut.
type cutBlock struct {
	reasoning bool
	token     []byte // of reasoning
	id        []byte // of a search, in either of its blocks
}

// isSearch reports whether the block is one of a search that shunt wrote.
func (b *cutBlock) isSearch() bool { return bytes.HasPrefix(b.id, []byte(searchID)) }

// cutter removes blocks from the messages of a body.
type cutter struct {
	body    []byte
	cuts    func(*cutBlock) bool
	edits   []wire.Edit
	dropped int
}

// element is one of an array's elements and, if it is not removed as a whole, what changes in it.
type element struct {
	wire.Span
	cut   bool
	edits []wire.Edit
}

func (c *cutter) messages() {
	list, ok := wire.Member(c.body, "messages")
	if !ok {
		return
	}
	c.edits = c.remove(c.edits, list, func(e *element) { c.message(e) })
}

// message removes blocks from a message, or the message if none is left.
func (c *cutter) message(e *element) {
	content, ok := wire.Member(e.Of(c.body), "content")
	if !ok {
		return
	}
	content = within(e.Span, content)
	blocks, kept := 0, 0
	e.edits = c.remove(nil, content, func(b *element) {
		c.block(b)
		if blocks++; !b.cut {
			kept++
		}
	})
	e.cut = blocks > 0 && kept == 0
}

// block decides about a block.
func (c *cutter) block(e *element) {
	var b cutBlock
	var citations wire.Object
	members := wire.OpenObject(e.Of(c.body))
	hasCitations := false
	for members.Next() {
		inside, isText := members.Text()
		switch {
		case members.Is("type"):
			b.reasoning = wire.Spells(inside, "thinking") || wire.Spells(inside, "redacted_thinking")
		case isText && (members.Is("signature") || members.Is("data")):
			b.token = inside
		case isText && (members.Is("id") || members.Is("tool_use_id")):
			b.id = inside
		case members.Is("citations"):
			citations, hasCitations = members, true
		}
	}
	if members.Err != nil {
		return
	}
	if !b.reasoning {
		b.token = nil
	}
	switch {
	case c.cuts(&b):
		e.cut = true
		c.dropped++
	case hasCitations:
		c.citations(e, within(e.Span, citations.Value))
	}
}

// citations removes the citations that shunt wrote.
func (c *cutter) citations(e *element, list wire.Span) {
	if !bytes.Contains(list.Of(c.body), []byte(dialect.EnvelopeMark)) {
		return
	}
	e.edits = c.remove(nil, list, func(citation *element) {
		index, ok := wire.Member(citation.Of(c.body), "encrypted_index")
		inside := []byte(nil)
		if ok {
			inside, ok = wire.InsideOf(within(citation.Span, index).Of(c.body))
		}
		if citation.cut = ok && bytes.HasPrefix(inside, []byte(dialect.EnvelopeMark)); citation.cut {
			c.dropped++
		}
	})
}

// remove appends edits that remove elements of the array at a place, with their commas, and those within the others. An array
// that is malformed is left as it is.
func (c *cutter) remove(edits []wire.Edit, array wire.Span, decide func(*element)) []wire.Edit {
	var all []element
	dropped := c.dropped
	list := wire.ArrayAt(c.body, array.Start)
	for list.Next() {
		all = append(all, element{Span: list.Value})
		decide(&all[len(all)-1])
	}
	if list.Err != nil {
		c.dropped = dropped
		return edits
	}
	kept := -1 // the last element before this one that stays
	for i := 0; i < len(all); {
		if !all[i].cut {
			edits = append(edits, all[i].edits...)
			kept = i
			i++
			continue
		}
		from := i
		for i < len(all) && all[i].cut {
			i++
		}
		switch {
		case i < len(all):
			edits = append(edits, wire.Edit{Span: wire.Span{Start: all[from].Start, End: all[i].Start}})
		case kept >= 0:
			edits = append(edits, wire.Edit{Span: wire.Span{Start: all[kept].End, End: all[i-1].End}})
		default:
			edits = append(edits, wire.Edit{Span: wire.Span{Start: all[from].Start, End: all[i-1].End}})
		}
	}
	return edits
}
