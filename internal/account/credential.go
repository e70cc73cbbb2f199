package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// freshFor is how long before its expiry a token stops being fresh (TOK-1).
const freshFor = 300 * time.Second

// credential is the current login of a source. The zero value is none.
type credential struct {
	oauth.Credential
	half time.Time // when half the token's lifetime has passed; zero: another process obtained it
}

func (c credential) refreshable() bool { return !c.SetupToken && !c.Refresh.IsZero() }

// fresh reports whether the token can be used without a refresh (TOK-1).
func (c credential) fresh(now time.Time) bool {
	return c.untilRejected() || !c.Expires.IsZero() && c.Expires.Sub(now) > freshFor
}

// expired reports whether the token has expired. Without an expiry, a refreshable token counts as expired unless its family
// says otherwise (GPT-2), and the provider decides about any other.
func (c credential) expired(now time.Time) bool {
	if c.Expires.IsZero() {
		return c.refreshable() && !c.UntilRejected
	}
	return !c.Expires.After(now)
}

// untilRejected reports whether only a 401 shows that the token has expired (GPT-2).
func (c credential) untilRejected() bool { return c.Expires.IsZero() && c.UntilRejected }

// sameTokens reports whether a and b have the same tokens.
func sameTokens(a, b credential) bool { return a.Access == b.Access && a.Refresh == b.Refresh }

// document is a credentials file that can be used.
type document struct {
	credential
	file   oauth.File
	format oauth.Format
}

// parse reads a credentials file. The error explains to a person why the file cannot be used, and never quotes it (TOK-7e).
func parse(format oauth.Format, content []byte) (document, error) {
	text, err := userfile.Text(content)
	if err != nil {
		return document{}, fmt.Errorf("the file %w", err)
	}
	start := bytes.TrimSpace(text)
	switch {
	case len(start) == 0:
		return document{}, errors.New("the file is empty")
	case !json.Valid(text):
		return document{}, errors.New("the file is not valid JSON (truncated?)")
	case start[0] != '{':
		return document{}, errors.New("the file does not hold a JSON object")
	}
	file, err := format.Parse(text)
	if err != nil {
		return document{}, err
	}
	return document{credential{Credential: file.Credential}, file, format}, nil
}

// with returns the file with another login in place of its own. Everything else stays as it is (ACC-1).
func (d document) with(c credential) []byte { return d.format.Rewrite(d.file, c.Credential) }
