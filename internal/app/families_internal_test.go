package app

import (
	"testing"

	"shunt/internal/config"
	"shunt/internal/family"
	"shunt/internal/family/claude"
)

// FAM-1: a family that comes before another of its kind does not change what the responses of providers without accounts mean.
func TestDefinedKind(t *testing.T) {
	known := families{&family.Family{Name: "acme", Kind: claude.Family.Kind}, &claude.Family}
	for _, auth := range []config.Auth{config.Passthrough, config.APIKey} {
		if got := known.responsesOf(&config.Provider{Kind: config.Anthropic, Auth: auth}); got != &claude.Family {
			t.Errorf("%s: the responses are those of %s", auth, got.Name)
		}
	}
}

// FAM-3: every kind of provider without accounts is served.
func TestEveryKindIsDefined(t *testing.T) {
	for _, kind := range []config.Kind{config.Anthropic, config.Responses, config.Chat, config.Gemini} {
		if f := families(Registry()).responsesOf(&config.Provider{Kind: kind, Auth: config.APIKey}); f == nil || f.Kind != string(kind) {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}
