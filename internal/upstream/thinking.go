package upstream

import (
	"bytes"
	"slices"
	"strings"
)

// thinkingBound are the models that read the reasoning of earlier turns only on the account that wrote it (SEL-31). A
// name stands for its dated versions too.
var thinkingBound = []string{"claude-sonnet-5-5"}

// losesThinking reports whether a request's answer suffers if the earlier turns came from another account.
func losesThinking(r *Request) bool {
	return bindsThinking(r.Model) && !r.countsTokens() && carriesThinking(r.Body.Bytes())
}

func bindsThinking(model string) bool {
	return slices.ContainsFunc(thinkingBound, func(bound string) bool {
		dated, ok := strings.CutPrefix(model, bound)
		return ok && (dated == "" || dated[0] == '-')
	})
}

// carriesThinking reports whether a body has thinking blocks. It looks for the type of such a block as it is written; a
// text that speaks of one has its quotes escaped.
func carriesThinking(body []byte) bool {
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
