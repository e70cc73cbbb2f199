package messages

import "bytes"

// CarriesReasoning implements [dialect.Passing]: it reports whether the body has thinking blocks. It looks for the type of
// such a block as it is written; a text that mentions one has its quotes escaped.
func (Dialect) CarriesReasoning(body []byte) bool {
	for _, kind := range [...]string{`"thinking"`, `"redacted_thinking"`} {
		for rest := body; ; {
			i := bytes.Index(rest, []byte(kind))
			if i < 0 {
				break
			}
			before, isValue := bytes.CutSuffix(trimSpace(rest[:i]), []byte(":"))
			if isValue && bytes.HasSuffix(trimSpace(before), []byte(`"type"`)) {
				return true
			}
			rest = rest[i+len(kind):]
		}
	}
	return false
}

func trimSpace(b []byte) []byte { return bytes.TrimRight(b, " \t\r\n") }
