package admin

import (
	"strings"

	"shunt/internal/observe"
)

// causes are the reasons why an account failed or cools down, as the page shows them.
var causes = map[string]string{
	"rejected":             "quota used up",
	"fable_rejected":       "Fable quota used up",
	"throttled":            "rate limited",
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

// choices are the reasons why an account serves a request, as the page shows them.
var choices = map[string]string{
	"sticky":       "it is the session's account",
	"round_robin":  "it is next in turn",
	"last_served":  "it last served the session",
	"advisor":      "it has Fable quota left",
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
