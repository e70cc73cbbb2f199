package chatgpt

import (
	"bytes"
	"encoding/base64"
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
	tokensMember  = "tokens"
	accessMember  = "access_token"
	refreshMember = "refresh_token"
	idMember      = "id_token"
	accountMember = "account_id"
)

var (
	errAPIKey    = errors.New("it holds an API key and no ChatGPT login: log in to Codex with ChatGPT, or use the key as a provider with auth = \"api_key\"")
	errNoTokens  = errors.New("it holds no tokens: if Codex keeps its login in the system's keyring, log in through shunt instead")
	errNoAccount = errors.New("neither the file nor its tokens name an account: log in again")
)

// Parse implements [oauth.Format] (GPT-1, GPT-2, GPT-4). The owner's organization is the user, since each member of a
// workspace has a quota of its own.
func (authFile) Parse(text []byte) (oauth.File, error) {
	file := oauth.File{Text: text}
	tokens, found := wire.Member(text, tokensMember)
	object := tokens.Of(text)
	if !found || object[0] != '{' {
		if key, ok := wire.Member(text, "OPENAI_API_KEY"); ok && text[key.Start] == '"' {
			return oauth.File{}, errAPIKey
		}
		return oauth.File{}, errNoTokens
	}
	var access, refresh, id string
	members := wire.OpenObject(object)
	for members.Next() {
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
	var err error
	if file.Access, err = oauth.ParseToken(access); err != nil {
		return oauth.File{}, fmt.Errorf("%s %w", accessMember, err)
	}
	if file.Refresh, err = oauth.ParseToken(refresh); err != nil {
		return oauth.File{}, fmt.Errorf("%s %w", refreshMember, err)
	}
	if file.Access.IsZero() {
		return oauth.File{}, errNoTokens
	}
	first, second := claimsOf(access), claimsOf(id)
	file.Expires = first.expires()
	for _, c := range []claims{first, second} {
		if file.Account == "" {
			file.Account = c.Auth.Account
		}
		if file.Organization == "" {
			file.Organization = c.Auth.User
		}
	}
	if file.Account == "" {
		return oauth.File{}, errNoAccount
	}
	return file, nil
}

// Rewrite implements [oauth.Format].
func (authFile) Rewrite(file oauth.File, c oauth.Credential) []byte {
	tokens, _ := wire.Member(file.Text, tokensMember)
	var edits []wire.Edit
	if c.Access != file.Access {
		edits = append(edits, wire.SetMember(file.Text, tokens.Start, accessMember, wire.Quote(c.Access.Reveal()), ""))
	}
	if c.Refresh != file.Refresh {
		edits = append(edits, wire.SetMember(file.Text, tokens.Start, refreshMember, wire.Quote(c.Refresh.Reveal()), accessMember))
	}
	return splice(file.Text, edits...)
}

// Assign implements [oauth.Format]. The user is part of the tokens, and not recorded again.
func (authFile) Assign(file oauth.File, to oauth.Owner) []byte {
	if to.Account == "" || to.Account == file.Account {
		return file.Text
	}
	tokens, _ := wire.Member(file.Text, tokensMember)
	return splice(file.Text, wire.SetMember(file.Text, tokens.Start, accountMember, wire.Quote(to.Account), ""))
}

// New implements [oauth.Format].
func (authFile) New(c oauth.Credential, of oauth.Owner) []byte {
	type tokensJSON struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token,omitempty"`
		Account string `json:"account_id,omitempty"`
	}
	text, err := json.MarshalIndent(struct {
		Mode   string     `json:"auth_mode"`
		Tokens tokensJSON `json:"tokens"`
	}{"chatgpt", tokensJSON{c.Access.Reveal(), c.Refresh.Reveal(), of.Account}}, "", "  ")
	if err != nil {
		panic(err) // strings only
	}
	return append(text, '\n')
}

func splice(text []byte, edits ...wire.Edit) []byte {
	segments, _ := wire.Splice(text, edits...)
	return bytes.Join(segments, nil)
}

// claims are what shunt reads in the payload of a token. Its signature is the provider's business (GPT-2).
type claims struct {
	Expires json.Number `json:"exp"`
	Auth    struct {
		Account string `json:"chatgpt_account_id"`
		User    string `json:"chatgpt_user_id"`
	} `json:"https://api.openai.com/auth"`
}

// claimsOf returns the claims of a token that is a JWT; none for any other.
func claimsOf(token string) (c claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return claims{}
	}
	return c
}

// latest is the latest expiry that is believed, in Unix seconds: the end of the year 9999.
const latest = 253402300799

// expires returns when the token expires, or the zero time if it does not say.
func (c *claims) expires() time.Time {
	seconds, err := c.Expires.Float64()
	if err != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(min(seconds, latest)), 0)
}
