package chat

import (
	"cmp"
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// call is a call of a tool, as far as it has arrived.
type call struct {
	index     int // as the upstream counts; -1: it does not
	id        string
	part      int
	begun     bool // its name is known
	ended     bool
	held      []byte // arguments that came before the name
	custom    *dialect.Unwrapper
	arguments progress
}

// What a reader keeps of the calls of one response, at most (DIA-2).
const (
	maxCalls         = 512
	maxHeldArguments = 64 << 10 // in bytes: those that came before the names of their tools
)

// fragment is a piece of a call.
type fragment struct {
	index     int
	id, name  string
	arguments []byte // a string literal or, from some vendors, the object itself
}

// call reads a piece of a call.
func (r *reader) call(entry []byte) {
	if r.finished {
		return
	}
	f := fragment{index: -1}
	for members := wire.OpenObject(entry); members.Next(); {
		switch {
		case members.Is("index"):
			if n, err := strconv.Atoi(string(members.Raw())); err == nil {
				f.index = n
			}
		case members.Is("id"):
			f.id = members.Decoded()
		case members.Is("function"):
			for function := wire.OpenObject(members.Raw()); function.Next(); {
				switch {
				case function.Is("name"):
					f.name = function.Decoded()
				case function.Is("arguments"):
					f.arguments = function.Raw()
				}
			}
		}
	}
	c := r.callOf(&f)
	if c == nil {
		if len(r.calls) == maxCalls {
			r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the response has more than 512 calls"})
			return
		}
		c = &call{index: f.index, id: f.id}
		r.calls = append(r.calls, c)
	}
	if c.id == "" {
		c.id = f.id
	}
	if !c.begun && f.name != "" {
		r.beginCall(c, f.name)
	}
	arguments := r.decode(f.arguments)
	if len(f.arguments) > 0 && f.arguments[0] == '{' {
		arguments = wire.AppendCompact(nil, f.arguments)
	}
	r.argue(c, arguments)
}

// callOf returns the call that a fragment continues, or nil if it begins one. Some vendors do not count their calls, or give all of
// them the same number: then another ID with a name begins another call.
func (r *reader) callOf(f *fragment) *call {
	for i := len(r.calls) - 1; i >= 0; i-- {
		c := r.calls[i]
		another := f.name != "" && c.begun && f.id != c.id
		switch {
		case f.index >= 0 && c.index == f.index, f.index < 0 && f.id != "" && c.id == f.id:
			if another && f.id != "" {
				continue
			}
			return c
		case f.index < 0 && f.id == "":
			if f.name != "" && c.begun {
				return nil
			}
			return c
		}
	}
	return nil
}

// beginCall starts the part of a call, under the client's name of its tool.
func (r *reader) beginCall(c *call, name string) {
	r.settle()
	r.called, c.begun = true, true
	event := &dialect.ToolCall{ID: cmp.Or(c.id, r.newID()), Name: dialect.ToolName{Name: name}}
	if tool := r.tools[name]; tool != nil {
		event.Name = tool.Name
		if event.Custom = tool.Kind == dialect.CustomTool; event.Custom {
			c.custom = &dialect.Unwrapper{}
		}
	}
	c.part = r.begin(dialect.CallPart, event)
	held := c.held
	c.held, r.held = nil, r.held-len(held)
	r.argue(c, held)
}

// newID returns an ID for a call that has none: unique in the conversation, since that of the response is.
func (r *reader) newID() string {
	return dialect.ValidID("call_"+r.id+"_"+strconv.Itoa(r.parts), longestID)
}

// argue adds a piece of the arguments of a call.
func (r *reader) argue(c *call, piece []byte) {
	if len(piece) == 0 || c.ended {
		return
	}
	if !c.begun {
		c.held = append(c.held, piece...)
		if r.held += len(piece); r.held > maxHeldArguments {
			r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the upstream sent arguments without the name of their tool"})
		}
		return
	}
	c.arguments.add(piece)
	if c.custom != nil {
		piece = c.custom.Append(nil, piece)
	}
	r.argument(c, piece)
}

func (r *reader) argument(c *call, piece []byte) {
	if len(piece) > 0 {
		r.dst = append(r.dst, dialect.Event{Kind: dialect.PartDelta, Part: c.part, Type: dialect.CallPart, Text: piece})
	}
}

// endCall ends the part of a call, unless it has ended.
func (r *reader) endCall(c *call) {
	if !c.begun || c.ended {
		return
	}
	c.ended = true
	if c.custom != nil {
		r.argument(c, c.custom.End(nil))
	}
	r.dst = append(r.dst, dialect.Event{Kind: dialect.PartEnded, Part: c.part, Type: dialect.CallPart})
}

// progress finds where a JSON object that arrives in pieces is complete.
type progress struct {
	depth             int
	inString, escaped bool
	complete          bool
}

func (p *progress) add(piece []byte) {
	for _, c := range piece {
		switch {
		case p.escaped:
			p.escaped = false
		case p.inString:
			p.escaped = c == '\\'
			p.inString = c != '"'
		case c == '"':
			p.inString = true
		case c == '{', c == '[':
			p.depth++
		case c == '}', c == ']':
			p.depth--
			p.complete = p.complete || p.depth == 0
		}
	}
}
