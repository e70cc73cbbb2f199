package config

import "shunt/internal/config/schema"

const openAIDoc = "Opens the gateway to clients of OpenAI's protocols: `POST /v1/responses`, which Codex uses, and `POST /v1/chat/completions`. " +
	"Models, routes and prefixes apply to them as to all others."

var openAIKeys = []schema.Key{{
	Name:    "provider",
	Binding: schema.Bind(providerNames, func(e *OpenAIEndpoint) *[]string { return &e.Providers }),
	Doc:     "Required. The provider for every model that no route sends elsewhere, or a list of them, as in `default_provider`.",
}}

// providerNames are the names of providers in the order in which they are tried.
var providerNames = schema.OneOrMore("the name of a provider (a-z, 0-9, _ and -), or a list of such names", providerName)
