package claude

import "shunt/internal/family"

// credentials is the format of Claude Code's credentials file (ACC-1, ACC-3). Shunt adds members of its own, whose names begin
// with shunt.
var credentials = family.CredentialsFile{
	Login:        "claudeAiOauth",
	Access:       "accessToken",
	Refresh:      "refreshToken",
	Expires:      "expiresAt",
	Milliseconds: true,
	SetupToken:   "shuntCredentialKind",
	Account:      "shuntAccountUuid",
	Organization: "shuntOrganizationUuid",
}
