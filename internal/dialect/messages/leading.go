package messages

import "shunt/internal/wire"

// LeadingModel returns the model of a request from the beginning of its body. It reports false if the beginning does not
// hold it yet, or holds what [Scan] refuses. Scan has the last word about the whole body: what follows may make it invalid.
func LeadingModel(head []byte) (model string, ok bool) {
	members := wire.OpenObject(head)
	for members.Next() {
		if members.Is("model") {
			model = members.Decoded()
			return model, model != ""
		}
	}
	return "", false
}
