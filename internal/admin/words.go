package admin

import (
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"shunt/internal/observe"
	"shunt/internal/pool"
)

// causes are the reasons why an account failed or cools down, as the page shows them.
var causes = map[string]string{
	"rejected":             "quota used up",
	"throttled":            "rate limited",
	"throttled_stream":     "rate limited",
	"not_included":         "not included in the plan",
	"payment_required":     "payment required",
	"foreign_reasoning":    "reasoning of another account",
	"unauthorized":         "token rejected",
	"request_unauthorized": "request not authorized",
	"credential_refused":   "credential rejected",
	"forbidden":            "credential rejected",
	"overloaded":           "overloaded",
	"server_error":         "server error",
	"challenged":           "web page instead of a response",
	"unreachable":          "connection failed",
	"transport":            "connection failed",
	"unreadable":           "invalid response",
	"host_down":            "host unreachable",
	"unresolved":           "no usable credential",
	"login_needed":         "login needed",
}

// causeInWords returns the words for a cause. The quota of a scope is used up if the cause is that of [pool.ScopeRejected].
func causeInWords(cause string) string {
	if scope, ok := strings.CutSuffix(cause, "_rejected"); ok {
		return label(scope) + " quota used up"
	}
	return inWords(causes, cause)
}

// causesOf returns the words for all causes, with those of the scopes of families.
func causesOf(families []Family) map[string]string {
	words := maps.Clone(causes)
	for _, f := range families {
		for _, scope := range f.Windows.Scopes() {
			cause := pool.Cause{Event: pool.ScopeRejected, Scope: scope}.String()
			words[cause] = causeInWords(cause)
		}
	}
	return words
}

// windowTitles returns the titles of the windows of families, by their names. Of windows of the same name, the first counts.
func windowTitles(families []Family) map[string]string {
	titles := map[string]string{}
	for _, f := range families {
		for _, w := range f.Windows.Windows() {
			if titles[w.Name] == "" {
				titles[w.Name] = w.Title
			}
		}
	}
	return titles
}

// label returns the name of a window or a scope as the page shows it: with a capital letter.
func label(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// choices are the reasons why an account serves a request, as the page shows them.
var choices = map[string]string{
	"sticky":       "it is the session's account",
	"round_robin":  "it is next in turn",
	"last_served":  "it last served the session",
	"advisor":      "it has quota left for the model of a tool",
	"near_quota":   "the preferred account is near its limit",
	"cooled":       "the preferred account is cooling down",
	"needs_login":  "the preferred account needs a login",
	"disabled":     "the preferred account is disabled",
	"paused":       "the preferred account is paused",
	"capped":       "the preferred account is capped",
	"ramp":         "the preferred account has no free slot",
	"failover":     "the preferred account failed",
	"pool_changed": "the pool changed",
}

// ends are the ways in which a response can end early, as the page shows them.
var ends = map[string]string{
	string(observe.Truncated):  "truncated",
	string(observe.ClientGone): "client disconnected",
	string(observe.Shutdown):   "stopped with shunt",
	string(observe.Failed):     "error in stream",
}

// inWords returns the words for a value of the API, or the value itself with spaces.
func inWords(words map[string]string, value string) string {
	if text, known := words[value]; known {
		return text
	}
	return strings.ReplaceAll(value, "_", " ")
}
