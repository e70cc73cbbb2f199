package family

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"shunt/internal/oauth"
	"shunt/internal/wire"
)

// CredentialsFile is an [oauth.Format] of JSON files with a member for each value (ACC-1, ACC-3). Its fields are the names of
// the members, in ASCII, which match exactly. Of several members with one name, the last counts. A value whose name is empty
// has no place in the file.
type CredentialsFile struct {
	// Login is the member whose value is an object with the tokens. Empty: they are members of the file itself.
	Login string

	Access       string // required
	Refresh      string
	Expires      string // a number of seconds since 1970
	Milliseconds bool   // Expires is a number of milliseconds
	SetupToken   string // its value marks a setup token; needed if [oauth.Vendor.SetupLifetime] is set

	Account, Organization string // always members of the file itself
	DeviceID              string // always a member of the file itself (KIMI-2)
}

// setupKind is the value of [CredentialsFile.SetupToken].
const setupKind = "setup_token"

// Parse implements [oauth.Format].
func (f CredentialsFile) Parse(text []byte) (file oauth.File, err error) {
	file.Text = text
	login := f.findLogin(text)
	if login < 0 {
		return oauth.File{}, fmt.Errorf("the file has no %s login", f.Login)
	}
	for top := wire.OpenObject(text); top.Next(); {
		switch {
		case matches(&top, f.Account):
			file.Account = strings.TrimSpace(top.Decoded())
		case matches(&top, f.Organization):
			file.Organization = strings.TrimSpace(top.Decoded())
		case matches(&top, f.DeviceID):
			file.DeviceID = top.Decoded()
		}
	}
	if file.DeviceID, err = oauth.ParseDeviceID(file.DeviceID); err != nil {
		return oauth.File{}, fmt.Errorf("%s %w", f.DeviceID, err)
	}
	var access, refresh string
	isText := true
	for o := wire.ObjectAt(text, login); o.Next(); {
		switch {
		case matches(&o, f.Access):
			access = o.Decoded()
			isText = o.Raw()[0] == '"' || string(o.Raw()) == "null"
		case matches(&o, f.Refresh):
			refresh = o.Decoded()
		case matches(&o, f.Expires):
			file.Expires = f.parseTime(o.Raw())
		case matches(&o, f.SetupToken):
			file.SetupToken = strings.TrimSpace(o.Decoded()) == setupKind
		}
	}
	if !isText {
		return oauth.File{}, fmt.Errorf("%s is not a string", f.Access)
	}
	if file.Access, err = oauth.ParseToken(access); err != nil {
		return oauth.File{}, fmt.Errorf("%s %w", f.Access, err)
	}
	if file.Access.IsZero() {
		return oauth.File{}, f.errNoAccess()
	}
	if file.Refresh, err = oauth.ParseToken(refresh); err != nil {
		return oauth.File{}, fmt.Errorf("%s %w", f.Refresh, err)
	}
	return file, nil
}

// matches reports whether a member has a name, which may be empty for none.
func matches(o *wire.Object, name string) bool { return name != "" && o.Is(name) }

// findLogin returns the index of the brace of the object with the tokens, or -1.
func (f CredentialsFile) findLogin(text []byte) int {
	if f.Login == "" {
		return wire.SkipSpace(text, 0)
	}
	login, found := wire.Member(text, f.Login)
	if !found || text[login.Start] != '{' {
		return -1
	}
	return login.Start
}

func (f CredentialsFile) errNoAccess() error {
	if f.Login == "" {
		return fmt.Errorf("the file has no member %q with a token", f.Access)
	}
	return fmt.Errorf("the %s login has no %s", f.Login, f.Access)
}

// parseTime returns the zero time if the value is not a positive number.
func (f CredentialsFile) parseTime(raw []byte) time.Time {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	if !f.Milliseconds {
		ms *= 1000
	}
	return time.UnixMilli(int64(math.Min(ms, 1<<52)))
}

// number is the inverse of parseTime. It returns 0 for the zero time.
func (f CredentialsFile) number(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case f.Milliseconds:
		return t.UnixMilli()
	}
	return t.Unix()
}

// Rewrite implements [oauth.Format]. Only values that differ change. A missing member is added after the access token.
func (f CredentialsFile) Rewrite(file oauth.File, c oauth.Credential) []byte {
	login := f.findLogin(file.Text)
	var edits []wire.Edit
	set := func(name string, value []byte) {
		if name != "" {
			edits = append(edits, wire.SetMember(file.Text, login, name, value, f.Access))
		}
	}
	if c.Access != file.Access {
		set(f.Access, wire.Quote(c.Access.Reveal()))
	}
	if c.Refresh != file.Refresh {
		set(f.Refresh, wire.Quote(c.Refresh.Reveal()))
	}
	if expires := f.number(c.Expires); expires != f.number(file.Expires) {
		set(f.Expires, strconv.AppendInt(nil, expires, 10))
	}
	if f.DeviceID != "" && c.DeviceID != file.DeviceID {
		edits = append(edits, wire.SetMember(file.Text, wire.SkipSpace(file.Text, 0), f.DeviceID, wire.Quote(c.DeviceID), f.Login))
	}
	return splice(file.Text, edits...)
}

// Assign implements [oauth.Format]. What is not known of the owner stays as it is in the file.
func (f CredentialsFile) Assign(file oauth.File, to oauth.Owner) []byte {
	text := file.Text
	set := func(name, value string) {
		if name != "" && value != "" {
			text = splice(text, wire.SetMember(text, wire.SkipSpace(text, 0), name, wire.Quote(value), ""))
		}
	}
	set(f.Account, to.Account)
	set(f.Organization, to.Organization)
	return text
}

func splice(text []byte, edits ...wire.Edit) []byte {
	segments, _ := wire.Splice(text, edits...)
	return bytes.Join(segments, nil)
}

// New implements [oauth.Format]. Values that are not known have no member.
func (f CredentialsFile) New(c oauth.Credential, of oauth.Owner) []byte {
	var login object
	login.add(f.Access, wire.Quote(c.Access.Reveal()))
	if !c.SetupToken {
		login.addText(f.Refresh, c.Refresh.Reveal())
	}
	if expires := f.number(c.Expires); expires != 0 {
		login.add(f.Expires, strconv.AppendInt(nil, expires, 10))
	}
	if c.SetupToken {
		login.addText(f.SetupToken, setupKind)
	}
	file := login
	if f.Login != "" {
		file = nil
		file.add(f.Login, append(login, '}'))
	}
	file.addText(f.Account, of.Account)
	file.addText(f.Organization, of.Organization)
	file.addText(f.DeviceID, c.DeviceID)

	var text bytes.Buffer
	_ = json.Indent(&text, append(file, '}'), "", "  ") // what add builds is valid
	text.WriteByte('\n')
	return text.Bytes()
}

// object is the text of a JSON object without its closing brace.
type object []byte

// add adds a member. It does nothing without a name.
func (o *object) add(name string, value []byte) {
	if name == "" {
		return
	}
	separator := byte(',')
	if len(*o) == 0 {
		separator = '{'
	}
	*o = append(wire.AppendQuoted(append(*o, separator), name), ':')
	*o = append(*o, value...)
}

// addText adds a member with a text that is not empty.
func (o *object) addText(name, value string) {
	if value != "" {
		o.add(name, wire.Quote(value))
	}
}
