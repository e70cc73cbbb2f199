package upstream

import (
	"bytes"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// losesReasoning reports whether the response suffers if the earlier turns came from another account (SEL-31).
func (x *exchange) losesReasoning() bool {
	return x.translation == nil && x.family.LosesReasoning(x.r.Model) && !x.counting && x.r.Dialect.CarriesReasoning(x.r.Body.Bytes())
}

// hasReasoning reports whether the request contains reasoning that can be cut (GPT-10b).
func (x *exchange) hasReasoning() bool {
	if x.translation != nil {
		return x.translation.encoded.Bound
	}
	return len(x.r.Dialect.AppendReasoningCuts(nil, x.r.Body.Bytes())) > 0
}

// edits returns the changes to the body for an attempt.
func (x *exchange) edits(a *attempt) []wire.Edit {
	edits := x.r.edits(a.account.UUID())
	if !a.cut {
		edits, a.dropped.Reasoning = x.r.cuts(edits, func() dialect.Origin { return originOf(x.family, a.Key) })
		return edits
	}
	cut := x.r.Dialect.AppendReasoningCuts(edits, x.r.Body.Bytes())
	a.dropped.Reasoning = len(cut) - len(edits)
	return cut
}

// cuts appends the changes that remove what only another account can read, and returns the number of such parts (RSP-3b).
func (r *Request) cuts(edits []wire.Edit, to func() dialect.Origin) ([]wire.Edit, int) {
	body := r.Body.Bytes()
	if !bytes.Contains(body, envelopeMark) { // as in almost every request
		return edits, 0
	}
	return r.Dialect.AppendCuts(edits, body, to())
}

var envelopeMark = []byte(dialect.EnvelopeMark)
