package chatgpt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"shunt/internal/oauth"
	"shunt/internal/wire"
)

// credentials is the format of Codex's auth.json (GPT-1).
var credentials oauth.Format = authFile{}

type authFile struct{}

// The members of the file, and of its object tokens.
const (
	modeMember      = "auth_mode"
	keyMember       = "OPENAI_API_KEY"
	tokensMember    = "tokens"
	idMember        = "id_token"
	accessMember    = "access_token"
	refreshMember   = "refresh_token"
	accountMember   = "account_id"
	refreshedMember = "last_refresh"
)

// chatgptMode is the value of auth_mode for a login with ChatGPT.
const chatgptMode = "chatgpt"

var (
	errAPIKey    = errors.New("it is set to an API key, not a ChatGPT login: log in to Codex with ChatGPT, or configure a provider with auth = \"api_key\" for the key")
	errNoTokens  = errors.New("it holds no tokens: if Codex keeps its login in the system's keyring, log in with `shunt login codex` instead")
	errNoAccount = errors.New("it does not name an account, and neither do its tokens: log in again")
	errAccount   = errors.New(accountMember + " contains white space or characters that are not valid in an ID")
)

// Parse implements [oauth.Format] (GPT-1, GPT-2, GPT-4).
func (authFile) Parse(text []byte) (oauth.File, error) {
	file := oauth.File{Text: text}
	var mode, key string
	var object []byte
	for top := wire.OpenObject(text); top.Next(); {
		switch {
		case top.Is(modeMember):
			mode = top.Decoded()
		case top.Is(keyMember):
			key = top.Decoded()
		case top.Is(tokensMember):
			object = top.Raw()
		case top.Is(refreshedMember):
			file.Refreshed, _ = time.Parse(time.RFC3339, top.Decoded()) // the zero time, unless it is one
		}
	}
	noTokens := len(object) == 0 || object[0] != '{'
	if isKeyMode(mode) || noTokens && key != "" {
		return oauth.File{}, errAPIKey
	}
	if noTokens {
		return oauth.File{}, errNoTokens
	}
	if err := parseTokens(&file, object); err != nil {
		return oauth.File{}, err
	}
	access, id := claimsOf(file.Access.Reveal()), claimsOf(file.ID.Reveal())
	file.Expires = access.expires
	file.UntilRejected = file.Expires.IsZero()
	file.Owner = ownerOf(file.Account, access, id)
	switch {
	case file.Account == "":
		return oauth.File{}, errNoAccount
	case strings.ContainsFunc(file.Account, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return oauth.File{}, errAccount // it is sent in a header
	}
	return file, nil
}

// isKeyMode reports whether a mode of Codex is that of an API key. Codex has written it in several forms.
func isKeyMode(mode string) bool {
	return strings.EqualFold(strings.NewReplacer("_", "", "-", "").Replace(mode), "apikey")
}

// parseTokens reads the object with the tokens.
func parseTokens(file *oauth.File, object []byte) (err error) {
	var access, refresh, id string
	for members := wire.OpenObject(object); members.Next(); {
		switch {
		case members.Is(accessMember):
			access = members.Decoded()
		case members.Is(refreshMember):
			refresh = members.Decoded()
		case members.Is(idMember):
			id = members.Decoded()
		case members.Is(accountMember):
			file.Account = strings.TrimSpace(members.Decoded())
		}
	}
	if file.Access, err = oauth.ParseToken(access); err != nil {
		return fmt.Errorf("%s %w", accessMember, err)
	}
	if file.Refresh, err = oauth.ParseToken(refresh); err != nil {
		return fmt.Errorf("%s %w", refreshMember, err)
	}
	if file.ID, err = oauth.ParseToken(id); err != nil {
		return fmt.Errorf("%s %w", idMember, err)
	}
	if file.Access.IsZero() {
		return errNoTokens
	}
	return nil
}

// Rewrite implements [oauth.Format] (GPT-3). The account, which may be known from the tokens alone, is written too.
func (authFile) Rewrite(file oauth.File, c oauth.Credential) []byte {
	text := file.Text
	if c.Access != file.Access {
		text = setToken(text, accessMember, c.Access.Reveal())
	}
	if c.ID != file.ID {
		text = setToken(text, idMember, c.ID.Reveal())
	}
	if c.Refresh != file.Refresh {
		text = setToken(text, refreshMember, c.Refresh.Reveal())
	}
	if string(text) != string(file.Text) {
		text = setAccount(text, file.Account)
	}
	if !c.Refreshed.IsZero() && !c.Refreshed.Equal(file.Refreshed) {
		text = splice(text, wire.SetMember(text, wire.SkipSpace(text, 0), refreshedMember, wire.Quote(timestamp(c.Refreshed)), tokensMember))
	}
	return text
}

// setToken sets a member of the object with the tokens.
func setToken(text []byte, name, value string) []byte {
	tokens, _ := wire.Member(text, tokensMember)
	return splice(text, wire.SetMember(text, tokens.Start, name, wire.Quote(value), accessMember))
}

// setAccount sets the account if the object with the tokens does not name it yet.
func setAccount(text []byte, account string) []byte {
	tokens, _ := wire.Member(text, tokensMember)
	for members := wire.ObjectAt(text, tokens.Start); members.Next(); {
		if members.Is(accountMember) && strings.TrimSpace(members.Decoded()) == account {
			return text
		}
	}
	return setToken(text, accountMember, account)
}

// Assign implements [oauth.Format]. The user is part of the tokens, and not recorded again.
func (authFile) Assign(file oauth.File, to oauth.Owner) []byte {
	if to.Account == "" || to.Account == file.Account {
		return file.Text
	}
	return setToken(file.Text, accountMember, to.Account)
}

// authJSON is a file as Codex writes it.
type authJSON struct {
	Mode      string     `json:"auth_mode"`
	Key       *string    `json:"OPENAI_API_KEY"`
	Tokens    tokensJSON `json:"tokens"`
	Refreshed string     `json:"last_refresh,omitempty"`
}

type tokensJSON struct {
	ID      string `json:"id_token,omitempty"`
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token,omitempty"`
	Account string `json:"account_id,omitempty"`
}

// New implements [oauth.Format]. Like Codex, it writes a member for the API key that there is not.
func (authFile) New(c oauth.Credential, of oauth.Owner) []byte {
	account := ownerOf(of.Account, claimsOf(c.Access.Reveal()), claimsOf(c.ID.Reveal())).Account
	file := authJSON{Mode: chatgptMode, Tokens: tokensJSON{c.ID.Reveal(), c.Access.Reveal(), c.Refresh.Reveal(), account}}
	if !c.Refreshed.IsZero() {
		file.Refreshed = timestamp(c.Refreshed)
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		panic(err) // strings only
	}
	return append(text, '\n')
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func splice(text []byte, edits ...wire.Edit) []byte {
	segments, _ := wire.Splice(text, edits...)
	return bytes.Join(segments, nil)
}
