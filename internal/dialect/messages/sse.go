package messages

import "shunt/internal/wire"

// FirstEvent finds the first complete event in the head of a stream that is neither a ping nor a comment (FO-11). A block
// without data is not an event. Data may alias head. An event without a name has that of the type in its data. If there is none,
// Start is that of the block that has not ended.
func FirstEvent(head []byte) (e wire.Event, found bool) {
	for pos := 0; ; pos = e.End {
		if e, found = wire.NextEvent(head, pos); !found {
			return e, false
		}
		if e.Name == "" {
			e.Name = typeOf(e.Data)
		}
		if e.HasData && e.Name != "ping" {
			return e, true
		}
	}
}

// typeOf returns the type in an event's data, or "".
func typeOf(data []byte) string {
	name := ""
	members := wire.OpenObject(data)
	for members.Next() {
		if members.Is("type") {
			name = members.Decoded()
		}
	}
	return name
}
