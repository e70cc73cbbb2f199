package oauth

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"shunt/internal/secret"
)

// Credential is a login in a credentials file. The zero value is none.
type Credential struct {
	Access     secret.String
	Refresh    secret.String // zero: it cannot be refreshed
	ID         secret.String // the token that describes the person, which is stored with the others (GPT-1); zero: none
	Expires    time.Time     // when the access token expires; zero: unknown
	Refreshed  time.Time     // when the tokens were issued (GPT-3); zero: unknown
	SetupToken bool          // the access token is used verbatim and never refreshed (ACC-2)
	DeviceID   string        // which the provider binds the login to (KIMI-2); empty: none

	// UntilRejected is set if an access token without a known expiry is valid until the provider rejects it (GPT-2). Otherwise it
	// counts as expired (TOK-1).
	UntilRejected bool
}

// Owner is the account that a login belongs to, as UUIDs. A field that is not known is empty.
type Owner struct {
	Account, Organization string
	User                  string // the person, if each has a quota of their own in the account (GPT-4)
}

// Is reports whether an owner can be the same as one that was known before: what was known of the account and its organization
// is not contradicted, and the user is the same if it was known (GPT-3).
func (o Owner) Is(before Owner) bool {
	agree := func(a, b string) bool { return a == "" || b == "" || a == b }
	return agree(o.Account, before.Account) && agree(o.Organization, before.Organization) && (before.User == "" || o.User == before.User)
}

// File is a credentials file that can be used (ACC-1).
type File struct {
	Credential
	Owner        // as written; see [ParseUUID]
	Text  []byte // JSON without a byte-order mark; see [Format]
}

// Format reads and writes the credentials files of a family of accounts. Members that it does not know survive every
// rewrite, byte for byte and at every level (ACC-1). Its methods do not change the text of a file that they receive. A format
// that has no place for a value, such as an organization or the mark of a setup token, drops that value. Most families need
// none of their own: see [shunt/internal/family.CredentialsFile].
type Format interface {
	// Parse reads a file. The text is a valid JSON object. The file that it returns has an access token and this text, and its
	// Expires is zero unless the text says when the token expires. The error explains to a person why the file cannot be
	// used, and never quotes it (TOK-7e).
	Parse(text []byte) (File, error)

	// Rewrite returns the text of the file with another login in place of its own. Parse reads that login from it. Values that
	// are equal keep their bytes, and a member is not added for a value that is zero: an Expires of zero is unknown and not a
	// number of seconds. Files whose access token itself says when it expires have no other place for that.
	Rewrite(file File, c Credential) []byte

	// Assign returns the text of the file with its owner recorded in it; unchanged, if the format has no place for an owner.
	Assign(file File, to Owner) []byte

	// New returns the text of a file for a new login (ACC-3), from which Parse reads the same. What is zero has no member.
	New(c Credential, of Owner) []byte
}

// ParseUUID returns the UUID in a text, without the white space around it, or empty if it does not have the form of one.
func ParseUUID(text string) string {
	text = strings.TrimSpace(text)
	if !uuidForm.MatchString(text) {
		return ""
	}
	return text
}

// uuidForm accepts more than UUIDs, because providers may change the form.
var uuidForm = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

var errToken = errors.New("contains white space or characters that are not valid in a token (was it pasted with a line break?)")

var errDevice = errors.New("contains white space or characters that are not valid in the ID of a device")

// ParseToken returns the token in a text, without the white space around it. It fails if the token cannot be sent in a
// header. The error completes a sentence whose subject is the text: wrap it as in fmt.Errorf("%s %w", member, err).
func ParseToken(text string) (secret.String, error) {
	text = strings.TrimSpace(text)
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return secret.String{}, errToken
		}
	}
	return secret.New(text), nil
}

// ParseDeviceID returns the device ID in a text, without the white space around it. It fails if the ID cannot be sent in a
// header. The error is to be wrapped as that of [ParseToken].
func ParseDeviceID(text string) (string, error) {
	id, err := ParseToken(text)
	if err != nil {
		return "", errDevice
	}
	return id.Reveal(), nil
}
