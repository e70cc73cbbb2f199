package gateway

import (
	"net/http"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/observe"
	"shunt/internal/tokens"
	"shunt/internal/upstream"
)

// countTokens counts the tokens of a request whose upstream cannot (DIA-10).
func countTokens(w http.ResponseWriter, r *upstream.Request, e dialect.Endpoint) upstream.Outcome {
	turn, err := r.Dialect.ReadTurn(r.Body.Bytes())
	if err != nil {
		return upstream.Outcome{Failure: fail(http.StatusBadRequest, dialect.InvalidRequest, err.Error())}
	}
	body := e.AppendCount(nil, tokens.Count(turn))
	w.Header().Set("Content-Type", "application/json")
	n, _ := w.Write(body)
	r.Record.Status, r.Record.BytesOut, r.Record.TTFB = http.StatusOK, int64(n), observe.Millis(time.Since(r.Record.Time))
	return upstream.Outcome{}
}
