package messages

import "shunt/internal/wire"

// LeadingModel implements [dialect.Inbound]. [Dialect.Scan] has the last word about the whole body: what follows may make it
// invalid.
func (Dialect) LeadingModel(head []byte) (model string, ok bool) {
	members := wire.OpenObject(head)
	for members.Next() {
		if members.Is("model") {
			model = members.Decoded()
			return model, model != ""
		}
	}
	return "", false
}
