package messages

import "shunt/internal/wire"

// startModel finds the string literal of message.model in the data of a message_start event, quotes included (RTE-3).
func startModel(data []byte) (wire.Span, bool) {
	members := wire.OpenObject(data)
	for members.Next() {
		if members.Is("message") {
			span, ok := modelOf(members.Raw())
			if !ok {
				return wire.Span{}, false
			}
			return wire.Span{Start: members.Value.Start + span.Start, End: members.Value.Start + span.End}, true
		}
	}
	return wire.Span{}, false
}

func modelOf(src []byte) (wire.Span, bool) {
	members := wire.OpenObject(src)
	for members.Next() {
		if members.Is("model") {
			_, ok := members.Text()
			return members.Value, ok
		}
	}
	return wire.Span{}, false
}
