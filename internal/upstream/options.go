package upstream

import (
	"shunt/internal/dialect"
	"shunt/internal/family"
)

// RequestOptions say what the requests to an upstream contain.
type RequestOptions struct {
	Agent   string               // the user agent of translated requests (FAM-5)
	Headers []family.HeaderField // that the operator adds to each (FAM-4)
	Accepts dialect.Accepts      // what the upstream accepts of its dialect (FAM-3)
}
