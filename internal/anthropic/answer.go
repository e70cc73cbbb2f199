package anthropic

// AnswerModel finds the string literal of the top-level model of a JSON answer, quotes included (RTE-3). The head may be
// a prefix of the answer.
func AnswerModel(head []byte) (Span, bool) { return modelOf(head) }

// StartModel finds the string literal of message.model in the data of a message_start event, quotes included (RTE-3).
func StartModel(data []byte) (Span, bool) {
	members := openObject(data)
	for members.next() {
		if members.is("message") {
			span, ok := modelOf(members.raw())
			if !ok {
				return Span{}, false
			}
			return Span{members.value.Start + span.Start, members.value.Start + span.End}, true
		}
	}
	return Span{}, false
}

func modelOf(src []byte) (Span, bool) {
	members := openObject(src)
	for members.next() {
		if members.is("model") {
			_, ok := members.text()
			return members.value, ok
		}
	}
	return Span{}, false
}
