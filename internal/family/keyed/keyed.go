// Package keyed contains the families of providers with a key and no accounts: what the responses of each kind mean that no
// family of accounts defines (FAM-3).
package keyed

import (
	"shunt/internal/dialect/responses"
	"shunt/internal/family"
)

// Responses are providers of the Responses API.
var Responses = family.Family{
	Name: "responses", Title: "Responses API", Kind: "responses", DefinesKind: true,
	Dialect: responses.Dialect{}, Path: "/responses", ModelHeader: "Openai-Model",
	Rules: family.Standard,
}
