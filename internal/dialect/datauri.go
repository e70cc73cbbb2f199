package dialect

import "strings"

// ParseDataURI returns the media type and the base64 data of a data URI. It reports false for any other text.
func ParseDataURI(uri string) (mediaType, data string, ok bool) {
	rest, isData := strings.CutPrefix(uri, "data:")
	if !isData {
		return "", "", false
	}
	head, data, found := strings.Cut(rest, ",")
	head, isBase64 := strings.CutSuffix(head, ";base64")
	if !found || !isBase64 {
		return "", "", false
	}
	mediaType, _, _ = strings.Cut(head, ";")
	return mediaType, data, true
}
