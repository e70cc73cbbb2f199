package dialect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// Origin is who can read the opaque token of a piece of reasoning: a family of accounts, or a provider with a key, and within
// it one account. The zero Origin is unknown.
type Origin struct {
	Family   string
	Identity string // a hash, as short as may be
}

// EnvelopeMark begins every envelope. It is part of the base64url alphabet, so that clients and upstreams take the whole for an
// opaque token.
const EnvelopeMark = "shunt1_"

// envelope is what shunt gives a client in place of a provider's opaque token, so that it recognizes the reasoning when the
// client sends it back (RSP-3).
type envelope struct {
	Family   string `json:"f"`
	Identity string `json:"i,omitempty"`
	ID       string `json:"n,omitempty"`
	Opaque   string `json:"o,omitempty"`
	Redacted bool   `json:"r,omitempty"`
}

// Seal returns the envelope of a piece of reasoning: a token of base64url that names its origin and contains its ID and its
// opaque token, and not its text.
func Seal(r *Reasoning) string {
	text, err := json.Marshal(envelope{r.Origin.Family, r.Origin.Identity, r.ID, r.Opaque, r.Redacted})
	if err != nil {
		panic(err) // strings only
	}
	return EnvelopeMark + base64.RawURLEncoding.EncodeToString(text)
}

// IsForeign reports whether a token bears shunt's mark and is not the envelope of reasoning of an origin, but of another or of
// none (RSP-3b).
func IsForeign(token []byte, to Origin) bool {
	if !bytes.HasPrefix(token, []byte(EnvelopeMark)) {
		return false
	}
	r, ok := Open(string(token))
	return !ok || r.Origin != to
}

// Open returns the reasoning in an envelope. It reports false for any other text.
func Open(text string) (*Reasoning, bool) {
	encoded, ok := strings.CutPrefix(text, EnvelopeMark)
	if !ok {
		return nil, false
	}
	plain, err := base64.RawURLEncoding.DecodeString(encoded)
	var e envelope
	if err != nil || json.Unmarshal(plain, &e) != nil {
		return nil, false
	}
	return &Reasoning{ID: e.ID, Opaque: e.Opaque, Redacted: e.Redacted, Origin: Origin{e.Family, e.Identity}}, true
}
