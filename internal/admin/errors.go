package admin

import (
	"net/http"

	"shunt/internal/wire"
)

// errorTypes are the types of the API's errors, by status.
var errorTypes = map[int]string{
	http.StatusBadRequest:          "invalid_request_error",
	http.StatusUnauthorized:        "authentication_error",
	http.StatusForbidden:           "permission_error",
	http.StatusNotFound:            "not_found_error",
	http.StatusMethodNotAllowed:    "invalid_request_error",
	http.StatusTooManyRequests:     "rate_limit_error",
	http.StatusInternalServerError: "api_error",
	http.StatusBadGateway:          "api_error",
}

// refuse responds with an error: {"type":"error","error":{"type":T,"message":M}}.
func refuse(w http.ResponseWriter, status int, message string) {
	body := wire.AppendQuoted([]byte(`{"type":"error","error":{"type":`), errorTypes[status])
	body = wire.AppendQuoted(append(body, `,"message":`...), message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, "}}"...))
}
