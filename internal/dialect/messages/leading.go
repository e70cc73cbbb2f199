package messages

import "shunt/internal/wire"

// LeadingModel implements [dialect.Inbound]. [Dialect.Scan] may still reject the whole body.
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
