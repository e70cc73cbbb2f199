package upstream

// NewTestTransport is newTestTransport for package upstream_test.
var NewTestTransport = newTestTransport
