package dialect

// interrupted is the result of a call whose result is missing (INB-1).
const interrupted = "the call was interrupted before it returned a result"

// Normalize returns the messages of a conversation in the normal form of a [Turn]. A result belongs to the last call before it
// that has its ID and no result yet, among the calls of the same message to the first (INB-1): of two results for one call, the
// first counts, and a result without a call becomes text. A call without a result gets one that says that it was interrupted.
func Normalize(messages []Message) []Message {
	if isNormal(messages) {
		return messages
	}
	var n normalizer
	for i := range messages {
		for _, part := range messages[i].Parts {
			n.add(messages[i].Role, part)
		}
	}
	return n.messages()
}

// isNormal reports whether messages are in normal form, as they are in almost every request.
func isNormal(messages []Message) bool {
	for i := range messages {
		m := &messages[i]
		if len(m.Parts) == 0 || i > 0 && m.Role == messages[i-1].Role {
			return false
		}
		results := 0
		if i > 0 && messages[i-1].Role == Assistant {
			var ok bool
			if results, ok = leadingResults(messages[i-1].Parts, m); !ok {
				return false
			}
		}
		for _, part := range m.Parts[results:] {
			switch p := part.(type) {
			case *ToolResult:
				return false
			case Text:
				if p.Text == "" {
					return false
				}
			}
		}
	}
	return true
}

// leadingResults returns the number of calls, and reports whether m begins with exactly their results, in the same order.
func leadingResults(assistant []Part, m *Message) (calls int, ok bool) {
	for _, part := range assistant {
		call, ok := part.(*ToolCall)
		if !ok {
			continue
		}
		if m.Role != User || calls == len(m.Parts) {
			return calls, false
		}
		result, ok := m.Parts[calls].(*ToolResult)
		if !ok || result.CallID != call.ID || result.Custom != call.Custom {
			return calls, false
		}
		calls++
	}
	return calls, true
}

// normalizer builds a conversation in normal form.
type normalizer struct {
	out    []Message
	calls  []pendingCall // in their order
	closed bool          // a call of the last message has its result: what the assistant says next was said knowing it
}

type pendingCall struct {
	at     int // the index of its message
	call   *ToolCall
	result *ToolResult
}

func (n *normalizer) add(role Role, part Part) {
	if text, ok := part.(Text); ok && text.Text == "" {
		return
	}
	if result, ok := part.(*ToolResult); ok {
		call, known := n.callOf(result)
		if call != nil {
			call.result = result
			n.closed = n.closed || call.at == len(n.out)-1
		} else if !known {
			for _, part := range result.Parts {
				n.add(User, part)
			}
		}
		return
	}
	if len(n.out) == 0 || n.out[len(n.out)-1].Role != role || n.closed {
		n.out, n.closed = append(n.out, Message{Role: role}), false
	}
	last := &n.out[len(n.out)-1]
	last.Parts = append(last.Parts, part)
	if call, ok := part.(*ToolCall); ok {
		n.calls = append(n.calls, pendingCall{at: len(n.out) - 1, call: call})
	}
}

// callOf returns the call that a result belongs to. Known reports whether there is a call with its ID at all.
func (n *normalizer) callOf(result *ToolResult) (found *pendingCall, known bool) {
	for i := len(n.calls) - 1; i >= 0; i-- {
		c := &n.calls[i]
		if found != nil && found.at != c.at {
			break
		}
		if c.call.ID == result.CallID {
			known = true
			if c.result == nil {
				found = c
			}
		}
	}
	return found, known
}

// messages returns the conversation, with the results in their places.
func (n *normalizer) messages() []Message {
	var all []Message
	for i, m := range n.out {
		if last := len(all) - 1; last >= 0 && all[last].Role == m.Role {
			all[last].Parts = append(all[last].Parts, m.Parts...)
			continue
		}
		all = append(all, m)
		if results := n.resultsOf(i); len(results) > 0 {
			all = append(all, Message{Role: User, Parts: results})
		}
	}
	return all
}

// resultsOf returns the results of the calls in a message: none if the conversation ends with it.
func (n *normalizer) resultsOf(at int) []Part {
	var results []Part
	complete := at < len(n.out)-1
	for _, c := range n.calls {
		if c.at != at {
			continue
		}
		complete = complete || c.result != nil
		result := c.result
		if result == nil {
			result = Interrupted(c.call)
		}
		if result.Custom != c.call.Custom {
			changed := *result
			changed.Custom = c.call.Custom
			result = &changed
		}
		results = append(results, result)
	}
	if !complete {
		return nil
	}
	return results
}

// Interrupted returns the result of a call that has none.
func Interrupted(call *ToolCall) *ToolResult {
	return &ToolResult{CallID: call.ID, Parts: []Part{Text{Text: interrupted}}, Failed: true, Custom: call.Custom}
}
