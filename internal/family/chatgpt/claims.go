package chatgpt

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"shunt/internal/oauth"
)

// claims are what shunt reads in the payload of a token. Verifying its signature is up to the provider (GPT-2).
type claims struct {
	expires       time.Time // zero: it does not say
	account, user string    // empty: it does not say
}

// claimsOf returns the claims of a token that is a JWT; none for any other. One claim in an unexpected form hides no other.
func claimsOf(token string) (c claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return claims{}
	}
	all := membersOf(payload)
	auth := membersOf(all["https://api.openai.com/auth"])
	return claims{parseTime(all["exp"]), textOf(auth["chatgpt_account_id"]), textOf(auth["chatgpt_user_id"])}
}

// latest is the latest expiry that is believed, in Unix seconds: the end of the year 9999.
const latest = 253402300799

// parseTime returns the zero time for anything that is not a positive number of seconds.
func parseTime(raw json.RawMessage) time.Time {
	seconds, err := strconv.ParseFloat(string(raw), 64) // which accepts no JSON but a number
	if err != nil || seconds < 1 {
		return time.Time{}
	}
	return time.Unix(int64(min(seconds, latest)), 0)
}

// ownerOf returns the owner of a login: the account that is recorded with it, or else that of the first token that names one
// (GPT-4). Each member of an account has a quota of their own.
func ownerOf(account string, tokens ...claims) oauth.Owner {
	owner := oauth.Owner{Account: account}
	for _, c := range tokens {
		owner.Account = cmp.Or(owner.Account, c.account)
		owner.User = cmp.Or(owner.User, c.user)
	}
	return owner
}

// membersOf returns the members of a JSON object, none for anything else.
func membersOf(raw []byte) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &members)
	return members
}

// textOf returns a JSON string without the white space around it, empty for anything else.
func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return strings.TrimSpace(text)
}
