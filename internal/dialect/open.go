package dialect

import (
	"encoding/json"
	"net/http"
)

// What the two dialects that began with OpenAI have in common.

// SessionOf returns the session that a header names, in the order of the names (INB-6).
func SessionOf(h http.Header) string {
	for _, name := range [...]string{"X-Claude-Code-Session-Id", "Session-Id", "Session_id", "Thread-Id", "X-Session-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// OpenStatus returns the status with which a client gets an upstream's: 529 is not known to it (DIA-6).
func OpenStatus(status int) int {
	if status == 529 {
		return http.StatusServiceUnavailable
	}
	return status
}

// AppendOpenModels appends a list of models as OpenAI's API sends it.
func AppendOpenModels(dst []byte, models []Model) []byte {
	type modelJSON struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string      `json:"object"`
		Data   []modelJSON `json:"data"`
	}{"list", make([]modelJSON, len(models))}
	for i, m := range models {
		list.Data[i] = modelJSON{m.ID, "model", 0, "shunt"}
	}
	body, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings only
	}
	return append(dst, body...)
}
