package claude

import (
	"encoding/json"
	"time"

	"shunt/internal/oauth"
)

// vendor is Anthropic's authorization server for subscriptions (LOG-2, LOG-3, LOG-4, TOK-3).
var vendor = oauth.Vendor{
	AuthorizeURL:    "https://claude.com/cai/oauth/authorize",
	AuthorizeURLEnv: "SHUNT_CLAUDE_AUTHORIZE_URL",
	TokenURL:        "https://platform.claude.com/v1/oauth/token",
	TokenURLEnv:     "SHUNT_CLAUDE_TOKEN_URL",
	ManualRedirect:  "https://platform.claude.com/oauth/code/callback",
	ClientID:        "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
	Scope:           "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload",
	SetupScope:      "user:inference",
	SetupLifetime:   365 * 24 * time.Hour,
	AuthorizeQuery:  map[string]string{"code": "true"},
	Owner:           ownerIn,
}

// ownerIn returns the account and the organization in a response of the token endpoint.
func ownerIn(response map[string]json.RawMessage) oauth.Owner {
	return oauth.Owner{Account: uuidIn(response["account"]), Organization: uuidIn(response["organization"])}
}

// maxUUID is the longest UUID in bytes that a response may hold.
const maxUUID = 64

func uuidIn(raw json.RawMessage) string {
	uuid := oauth.ParseUUID(text(membersOf(raw)["uuid"]))
	if len(uuid) > maxUUID {
		return ""
	}
	return uuid
}
