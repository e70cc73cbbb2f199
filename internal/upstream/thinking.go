package upstream

// losesReasoning reports whether the response suffers if the earlier turns came from another account (SEL-31).
func (x *exchange) losesReasoning() bool {
	return x.family.LosesReasoning(x.r.Model) && !x.counting && x.r.Dialect.CarriesReasoning(x.r.Body.Bytes())
}
