package messages

import "shunt/internal/dialect"

// LeadingModel implements [dialect.Inbound]. [Dialect.Scan] may still reject the whole body.
func (Dialect) LeadingModel(head []byte) (model string, ok bool) { return dialect.LeadingModel(head) }
