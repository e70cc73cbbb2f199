package dialect

import (
	"regexp"
	"strings"
)

// overflows are the words in which upstreams say that a conversation is too long for the model (DIA-7), in lower case.
var overflows = regexp.MustCompile(
	`(prompt|input|context|conversation|request|messages)[^.;]{0,80}\b(is|are|was|were) too (long|large)\b[^.;]{0,60}` +
		`|\bexceeds?\b[^.;]{0,80}\b(context|input|prompt|maximum number of tokens|token limit|max(imum)? tokens)\b` +
		`|\bexceed(s|ed|ing)? (the )?(model'?s? |available )?(context|input token)` +
		`|\bmaximum (context|prompt|input) length\b` +
		`|\b(context|prompt|input) (length|window|size)\b[^.;]{0,60}\bexceed` +
		`|\b(too many|reduce the (length|number)) (of )?(the )?(input|prompt|context|messages)( tokens)?\b`)

// otherLimits are the words of errors about a limit that is not the model's context.
var otherLimits = regexp.MustCompile("`?max_(completion_|output_)?tokens`?[^.;]{0,40}(too large|must be|at most|less than|exceeds the (maximum|model))|too many requests|rate limit|per (minute|day)|string too long|array too long")

// IsOverflow reports whether an error says that the conversation is too long for the model (DIA-7).
func IsOverflow(code, message string) bool {
	if code == codeOverflow || code == "context_window_exceeded" || code == "model_context_window_exceeded" {
		return true
	}
	message = strings.ToLower(message)
	return overflows.MatchString(message) && (!otherLimits.MatchString(message) || strings.Contains(message, "input length and"))
}

// number is a count of tokens, perhaps with separators.
var number = regexp.MustCompile(`\d[\d,_]*\d`)

// OverflowTokens returns the length of the conversation and the most that the model accepts, in tokens, as the text of such an
// error has them: the larger number is the length.
func OverflowTokens(message string) (length, maximum string, ok bool) {
	var found []string
	for _, n := range number.FindAllString(message, -1) {
		if n = strings.NewReplacer(",", "", "_", "").Replace(n); len(n) >= 4 && len(n) <= 9 {
			found = append(found, n)
		}
	}
	if len(found) < 2 {
		return "", "", false
	}
	for _, n := range found {
		if length == "" || isLarger(n, length) {
			length = n
		}
	}
	for _, n := range found {
		if isLarger(length, n) && (maximum == "" || isLarger(n, maximum)) {
			maximum = n
		}
	}
	return length, maximum, maximum != ""
}

// isLarger compares numbers without leading zeros.
func isLarger(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }
