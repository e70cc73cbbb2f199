package upstream

import "shunt/internal/wire"

// losesReasoning reports whether the response suffers if the earlier turns came from another account (SEL-31).
func (x *exchange) losesReasoning() bool {
	return x.family.LosesReasoning(x.r.Model) && !x.counting && x.r.Dialect.CarriesReasoning(x.r.Body.Bytes())
}

// hasReasoning reports whether the body contains reasoning that can be cut (GPT-10b).
func (x *exchange) hasReasoning() bool {
	return len(x.r.Dialect.AppendReasoningCuts(nil, x.r.Body.Bytes())) > 0
}

// edits returns the changes to the body for an attempt.
func (x *exchange) edits(a *attempt) []wire.Edit {
	edits := x.r.edits(a.account.UUID())
	if !a.cut {
		return edits
	}
	cut := x.r.Dialect.AppendReasoningCuts(edits, x.r.Body.Bytes())
	a.dropped.Reasoning = len(cut) - len(edits)
	return cut
}
