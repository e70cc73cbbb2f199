package dialect

import (
	"bytes"
	"html"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"shunt/internal/wire"
)

// longestText is how much of a body without a structure becomes the message of an error, in characters (DIA-6).
const longestText = 500

// ReadError reads the error in an upstream's response (DIA-6, DIA-7): in the upstream's words, with its status.
func ReadError(out Outbound, status int, body []byte) *Error {
	e, ok := out.ParseError(body)
	if !ok {
		e = Error{}
	}
	if e.Message == "" {
		e.Message = messageOf(body)
	}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	if e.Status = status; e.Kind == ContextOverflow || IsOverflow(e.Code, e.Message) {
		e.Kind, e.Status = ContextOverflow, http.StatusBadRequest
	} else if kind := KindOf(status); e.Kind != QuotaExhausted || kind != RateLimit {
		e.Kind = kind
	}
	return &e
}

// KindOf returns what an error status means (ERR-1, DIA-6).
func KindOf(status int) ErrorKind {
	switch status {
	case http.StatusUnauthorized:
		return Authentication
	case http.StatusPaymentRequired, http.StatusForbidden:
		return Permission
	case http.StatusNotFound:
		return NotFound
	case http.StatusRequestEntityTooLarge:
		return TooLarge
	case http.StatusTooManyRequests:
		return RateLimit
	case http.StatusServiceUnavailable, 529:
		return Overloaded
	case http.StatusGatewayTimeout:
		return Timeout
	}
	if status >= http.StatusInternalServerError {
		return ServerError
	}
	return InvalidRequest
}

// StatusOf returns the status of an error whose upstream sent none, since it was part of a stream.
func StatusOf(kind ErrorKind) int {
	switch kind {
	case InvalidRequest, ContextOverflow:
		return http.StatusBadRequest
	case Authentication:
		return http.StatusUnauthorized
	case Permission:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case RateLimit, QuotaExhausted:
		return http.StatusTooManyRequests
	case Overloaded:
		return http.StatusServiceUnavailable
	case Timeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// messageOf returns what a body says: the first of the members that hold a message, the title of a web page, or its text.
func messageOf(body []byte) string {
	text := bytes.TrimSpace(body)
	if len(text) > 0 && text[0] == '[' { // some vendors send a list of one error
		if list := wire.ArrayAt(text, 0); list.Next() {
			text = list.Value.Of(text)
		}
	}
	if len(text) > 0 && text[0] == '{' {
		for _, path := range [...][]string{{"error", "message"}, {"response", "error", "message"}, {"message"}, {"detail"}, {"error"}} {
			if message := messageAt(text, path); message != "" {
				return message
			}
		}
	}
	if title := titles.FindSubmatch(text); title != nil {
		return strings.Join(strings.Fields(html.UnescapeString(string(title[1]))), " ")
	}
	if len(text) == 0 || !utf8.Valid(text) || text[0] == '<' {
		return ""
	}
	runes := []rune(string(text[:min(len(text), utf8.UTFMax*longestText)]))
	return strings.TrimRight(string(runes[:min(len(runes), longestText)]), "\uFFFD")
}

var titles = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// messageAt returns the text at a path of members: a string, or the messages of a list of problems.
func messageAt(text []byte, path []string) string {
	for i, name := range path {
		member, found := wire.Member(text, name)
		if !found {
			return ""
		}
		text = member.Of(text)
		if i < len(path)-1 && text[0] != '{' {
			return ""
		}
	}
	switch text[0] {
	case '"':
		decoded, _ := wire.Unescape(nil, text[1:len(text)-1], wire.NoLimit)
		return string(decoded)
	case '[':
		var all []string
		for list := wire.ArrayAt(text, 0); list.Next(); {
			if element := list.Value.Of(text); element[0] == '{' {
				if message := messageAt(element, []string{"msg"}); message != "" {
					all = append(all, message)
				}
			}
		}
		return strings.Join(all, "; ")
	}
	return ""
}
