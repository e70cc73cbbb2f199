// Package keyed contains the families of providers with a key and no accounts: what the responses of each kind mean that no
// family of accounts defines (FAM-3).
package keyed

import (
	"shunt/internal/dialect/chat"
	"shunt/internal/dialect/gemini"
	"shunt/internal/dialect/responses"
	"shunt/internal/family"
)

// Responses are providers of the Responses API.
var Responses = family.Family{
	Name: "responses", Title: "Responses API", Kind: "responses", DefinesKind: true,
	Dialect: responses.Dialect{}, Path: "/responses", ModelHeader: "Openai-Model",
	Rules: family.Standard,
}

// Gemini are providers of the Gemini API.
var Gemini = family.Family{
	Name: "gemini", Title: "Gemini API", Kind: "gemini", DefinesKind: true,
	Dialect: gemini.Dialect{}, DelaysInBody: true,
	Rules: family.Standard,
}

// Chat are providers of chat completions.
var Chat = family.Family{
	Name: "chat", Title: "Chat completions", Kind: "chat", DefinesKind: true,
	Dialect: chat.Dialect{}, Path: "/chat/completions",
	Rules: family.Standard,
}
