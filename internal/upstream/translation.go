package upstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/identity"
)

// translation is a client's request in the dialect of an upstream, which the client does not speak (DIA-1), or in which it wants a
// document where the upstream sends streams only (DIA-3).
type translation struct {
	family  *family.Family
	turn    *dialect.Turn
	target  dialect.Target // for the account that it is encoded for
	encoded dialect.Encoded
	body    *Body // encoded; nil: it is not encoded yet
}

// translation returns the translation of the request for a family, or nil if its bytes pass. The caller releases it.
func (r *Request) translation(f *family.Family, accepts dialect.Accepts, model string) (*translation, *Failure) {
	if r.Dialect.Name() == f.Dialect.Name() && (r.Scan.Stream || !f.StreamOnly) {
		return nil, nil
	}
	if r.turn == nil {
		turn, err := r.Dialect.ReadTurn(r.Body.Bytes())
		if err != nil {
			return nil, untranslatable(err)
		}
		r.turn = turn
	}
	return &translation{family: f, turn: r.turn, target: dialect.Target{Model: model, Session: r.sessionHash(), Accepts: accepts}}, nil
}

// sessionHash returns the session as a translated request names it: never the client's own ID.
func (r *Request) sessionHash() string {
	if r.Session == 0 {
		return ""
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(r.Session))
	return hex.EncodeToString(b[:])
}

// untranslatable returns the failure of a request that cannot be sent in the upstream's dialect (DIA-5).
func untranslatable(err error) *Failure {
	message := "the request cannot be translated for the upstream"
	var rejected *dialect.RequestError
	if errors.As(err, &rejected) {
		message = rejected.Message
	}
	return &Failure{
		Status: http.StatusBadRequest, Kind: dialect.InvalidRequest, Message: message, Final: true, severity: unsendable, reason: "untranslatable",
	}
}

// encode encodes the request for an account. It does nothing if what is encoded serves for that account too (DIA-2).
func (t *translation) encode(to dialect.Origin) *Failure {
	if t.body != nil && (!t.encoded.Bound || t.target.Origin == to) {
		return nil
	}
	t.release()
	t.target.Origin = to
	encoded, err := t.family.Dialect.Encode(t.turn, &t.target)
	if err != nil {
		return untranslatable(err)
	}
	t.encoded, t.body = encoded, newBody(encoded.Body)
	return nil
}

// release frees the encoded request. It may be called more than once.
func (t *translation) release() {
	if t != nil && t.body != nil {
		t.body.Release()
		t.body = nil
	}
}

// path returns where the request goes, below the base URL.
func (t *translation) path() string { return cmp.Or(t.family.Path, t.encoded.Path) }

// header returns the header of the request. It says what sends it (FAM-5), and nothing of the client's.
func (t *translation) header(agent string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {agent}, "Accept": {"application/json"}}
	if t.encoded.Stream {
		h["Accept"] = []string{"text/event-stream"}
	}
	for _, fields := range [...][]dialect.Field{t.encoded.Header, t.family.Translated} {
		for _, f := range fields {
			h.Set(f.Name, f.Value)
		}
	}
	for _, name := range t.family.SessionHeaders {
		if t.target.Session != "" {
			h[name] = []string{t.target.Session}
		}
	}
	return h
}

// originOf returns who can read what an account writes for itself alone (RSP-3).
func originOf(f *family.Family, account identity.Key) dialect.Origin {
	return dialect.Origin{Family: f.Name, Identity: shortHash(account.Account())}
}

// shortHash returns a hash that does not reveal the text.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}
