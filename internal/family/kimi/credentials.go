package kimi

import (
	"net/http"

	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/version"
)

// credentials is the format of a file with a Kimi login (KIMI-2).
var credentials = family.CredentialsFile{
	Login:        "kimiOauth",
	Access:       "accessToken",
	Refresh:      "refreshToken",
	Expires:      "expiresAt",
	Milliseconds: true,
	DeviceID:     "deviceId",
}

// The header lines that say which client sends a request, and from which device. They are accurate (KIMI-2).
const (
	deviceHeader   = "X-Msh-Device-Id"
	platformHeader = "X-Msh-Platform"
	versionHeader  = "X-Msh-Version"

	platform = "shunt"
)

// vendor is the authorization server for Kimi accounts (KIMI-1, KIMI-2).
var vendor = oauth.Vendor{
	TokenURL:  "https://auth.kimi.com/api/oauth/token",
	OriginEnv: "SHUNT_KIMI_AUTH_URL",
	ClientID:  "17e5f671-d194-4dfb-9706-5516cb48c098",
	Encode:    oauth.Form,
	Header:    header,
	Device:    &oauth.DeviceFlow{CodeURL: "https://auth.kimi.com/api/oauth/device_authorization"},
}

// header is what requests to the authorization server say about the client.
func header(deviceID string) http.Header {
	return http.Header{deviceHeader: {deviceID}, platformHeader: {platform}, versionHeader: {version.String()}}
}
