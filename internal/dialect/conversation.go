package dialect

// Conversation builds the messages of a [Turn] in their normal form from parts in any order. The zero value is empty.
type Conversation struct {
	entries []entry
	calls   map[string][]*pairing // by ID, those that have no result yet
	called  map[string]bool       // the IDs of all calls
}

// entry is a part with its author.
type entry struct {
	role    Role
	part    Part
	pairing *pairing // of a call
}

// pairing is a call with its result.
type pairing struct{ result *ToolResult }

// Add adds a part. A result belongs to the first call before it with its ID that has none: IDs may repeat. Of two results for
// one call, the first counts. A result without a call becomes text.
func (c *Conversation) Add(role Role, part Part) {
	switch p := part.(type) {
	case *ToolCall:
		if c.calls == nil {
			c.calls, c.called = map[string][]*pairing{}, map[string]bool{}
		}
		pair := &pairing{}
		c.calls[p.ID] = append(c.calls[p.ID], pair)
		c.called[p.ID] = true
		c.entries = append(c.entries, entry{Assistant, p, pair})
		return
	case *ToolResult:
		if waiting := c.calls[p.CallID]; len(waiting) > 0 {
			waiting[0].result = p
			c.calls[p.CallID] = waiting[1:]
			return
		}
		if !c.called[p.CallID] {
			for _, piece := range p.Parts {
				c.entries = append(c.entries, entry{User, piece, nil})
			}
		}
		return
	case Text:
		if p.Text == "" {
			return
		}
	}
	c.entries = append(c.entries, entry{role, part, nil})
}

// interrupted is the result of a call that has none.
const interrupted = "The call was interrupted and has no result."

// Messages returns the messages.
func (c *Conversation) Messages() []Message {
	var messages []Message
	var open []entry // calls whose results are not written
	add := func(role Role, part Part) {
		if n := len(messages); n > 0 && messages[n-1].Role == role {
			messages[n-1].Parts = append(messages[n-1].Parts, part)
			return
		}
		messages = append(messages, Message{role, []Part{part}})
	}
	answer := func(last bool) {
		answered := false
		for _, call := range open {
			answered = answered || call.pairing.result != nil
		}
		if last && !answered {
			return // the conversation ends with these calls
		}
		for _, call := range open {
			result := call.pairing.result
			if result == nil {
				made := call.part.(*ToolCall)
				result = &ToolResult{CallID: made.ID, Failed: true, Custom: made.Custom, Parts: []Part{Text{Text: interrupted}}}
			}
			add(User, result)
		}
		open = nil
	}
	for _, e := range c.entries {
		if e.role != Assistant {
			answer(false)
		}
		add(e.role, e.part)
		if e.pairing != nil {
			open = append(open, e)
		}
	}
	answer(true)
	return messages
}
