package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"shunt/internal/oauth"
	"shunt/internal/wire"
)

// The members of a credentials file that shunt reads (ACC-1, ACC-3). Of several with one name, the last counts, as in every
// program that reads these files.
const (
	loginMember        = "claudeAiOauth"
	accessMember       = "accessToken"
	refreshMember      = "refreshToken"
	expiresMember      = "expiresAt"           // Unix milliseconds
	kindMember         = "shuntCredentialKind" // setupKind or absent
	accountMember      = "shuntAccountUuid"
	organizationMember = "shuntOrganizationUuid"

	setupKind = "setup_token"
)

// credentials is the format of Claude Code's credentials file. Shunt adds members of its own, whose names begin with shunt.
type credentials struct{}

// Parse implements [oauth.Format].
func (credentials) Parse(text []byte) (file oauth.File, err error) {
	file.Text = text
	login := -1
	for top := wire.OpenObject(text); top.Next(); {
		switch {
		case top.Is(loginMember):
			login = openObject(text, top.Value)
		case top.Is(accountMember):
			file.Account = strings.TrimSpace(top.Decoded())
		case top.Is(organizationMember):
			file.Organization = strings.TrimSpace(top.Decoded())
		}
	}
	if login < 0 {
		return oauth.File{}, errors.New("the file has no claudeAiOauth login")
	}
	var access, refresh string
	for o := wire.ObjectAt(text, login); o.Next(); {
		switch {
		case o.Is(accessMember):
			access = o.Decoded()
		case o.Is(refreshMember):
			refresh = o.Decoded()
		case o.Is(expiresMember):
			file.Expires = parseTime(o.Raw())
		case o.Is(kindMember):
			file.SetupToken = strings.TrimSpace(o.Decoded()) == setupKind
		}
	}
	if file.Access, err = oauth.ParseToken(access); err != nil {
		return oauth.File{}, fmt.Errorf("%s %w", accessMember, err)
	}
	if file.Access.IsZero() {
		return oauth.File{}, errors.New("the claudeAiOauth login has no accessToken")
	}
	if file.Refresh, err = oauth.ParseToken(refresh); err != nil {
		return oauth.File{}, fmt.Errorf("%s %w", refreshMember, err)
	}
	return file, nil
}

// openObject returns the index of the brace of a value, or -1 if the value is not an object.
func openObject(text []byte, value wire.Span) int {
	if text[value.Start] != '{' {
		return -1
	}
	return value.Start
}

// parseTime returns the time of a number of milliseconds, or the zero time if the value is not a positive number.
func parseTime(raw []byte) time.Time {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Min(ms, 1<<52)))
}

// Rewrite implements [oauth.Format]. Only the values of accessToken, refreshToken and expiresAt change.
func (credentials) Rewrite(file oauth.File, c oauth.Credential) []byte {
	login, _ := wire.Member(file.Text, loginMember)
	var edits []wire.Edit
	set := func(name string, value []byte) {
		edits = append(edits, wire.SetMember(file.Text, login.Start, name, value, accessMember))
	}
	if c.Access != file.Access {
		set(accessMember, wire.Quote(c.Access.Reveal()))
	}
	if c.Refresh != file.Refresh {
		set(refreshMember, wire.Quote(c.Refresh.Reveal()))
	}
	if c.Expires.UnixMilli() != file.Expires.UnixMilli() {
		set(expiresMember, strconv.AppendInt(nil, c.Expires.UnixMilli(), 10))
	}
	return splice(file.Text, edits)
}

// Assign implements [oauth.Format].
func (credentials) Assign(file oauth.File, to oauth.Owner) []byte {
	top := wire.SkipSpace(file.Text, 0)
	text := splice(file.Text, []wire.Edit{wire.SetMember(file.Text, top, accountMember, wire.Quote(to.Account), "")})
	if to.Organization != "" {
		text = splice(text, []wire.Edit{wire.SetMember(text, top, organizationMember, wire.Quote(to.Organization), "")})
	}
	return text
}

func splice(text []byte, edits []wire.Edit) []byte {
	segments, _ := wire.Splice(text, edits...)
	return bytes.Join(segments, nil)
}

// New implements [oauth.Format].
func (credentials) New(c oauth.Credential, of oauth.Owner) []byte {
	file := fileJSON{
		Login:   loginJSON{AccessToken: c.Access.Reveal(), RefreshToken: c.Refresh.Reveal(), ExpiresAt: c.Expires.UnixMilli()},
		Account: of.Account, Organization: of.Organization,
	}
	if c.SetupToken {
		file.Login.RefreshToken, file.Login.Kind = "", setupKind
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(file) // strings and a number always encode
	return text.Bytes()
}

// fileJSON is a file that shunt writes itself (ACC-3).
type fileJSON struct {
	Login        loginJSON `json:"claudeAiOauth"`
	Account      string    `json:"shuntAccountUuid,omitempty"`
	Organization string    `json:"shuntOrganizationUuid,omitempty"`
}

type loginJSON struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken,omitempty"`
	ExpiresAt    int64  `json:"expiresAt"`
	Kind         string `json:"shuntCredentialKind,omitempty"`
}
