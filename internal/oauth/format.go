package oauth

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"shunt/internal/secret"
)

// Credential is a login as a credentials file holds it. The zero value is none.
type Credential struct {
	Access     secret.String
	Refresh    secret.String // zero: the login cannot be refreshed
	Expires    time.Time     // when the access token expires; zero: unknown
	SetupToken bool          // the access token is used verbatim and never refreshed (ACC-2)
}

// Owner is the account that a login belongs to. A field that is not known is empty.
type Owner struct{ Account, Organization string }

// File is a credentials file that can be used (ACC-1).
type File struct {
	Credential
	Owner        // as the file has it; nothing has checked its form
	Text  []byte // JSON without a byte-order mark; see [Format]
}

// Format reads and writes the credentials files of one family of accounts. The text that it gets is valid JSON and its
// top level is an object. What it does not know survives every rewrite byte for byte, at every level (ACC-1).
type Format interface {
	// Parse reads a file. Its error says why a person cannot use the file, and never quotes it (TOK-7e).
	Parse(text []byte) (File, error)

	// Rewrite returns the file with another login in place of its own.
	Rewrite(file File, c Credential) []byte

	// Assign returns the file as one that says whose login it is. It changes nothing else.
	Assign(file File, to Owner) []byte

	// New returns the file of a login that a person has just made (ACC-3).
	New(c Credential, of Owner) []byte
}

// ParseUUID returns a UUID without the white space around it, or empty if the text does not have the form of one.
func ParseUUID(text string) string {
	text = strings.TrimSpace(text)
	if !uuidForm.MatchString(text) {
		return ""
	}
	return text
}

// uuidForm is lenient, because the form is the provider's to change.
var uuidForm = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

var errToken = errors.New("holds white space or characters that no token has (was it pasted with a line break?)")

// ParseToken returns the token in a text, without the white space around it. Its error, for what cannot be in a header,
// completes a sentence that begins with where the text comes from.
func ParseToken(text string) (secret.String, error) {
	text = strings.TrimSpace(text)
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return secret.String{}, errToken
		}
	}
	return secret.New(text), nil
}
