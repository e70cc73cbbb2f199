// Package observe is what shunt tells its operator: the process's logger, one [Record] a request (to the logger, to the
// [RequestLog], to [Metrics] and to [Traces]), and [Health], the named conditions that log, page and status command all
// show.
//
// It decides nothing and knows no other package of shunt: whoever owns a fact hands it over as plain values. Nothing here
// may carry a token, a prompt or a completion (OBS-1). Everything exported is safe for concurrent use.
package observe

import (
	"io"
	"log/slog"
)

// NewLogger builds the process's logger (OBS-1). Format is "text" or "json"; anything else means text on a terminal and
// JSON otherwise. Durations print as text ("1.5s") in both, so that no reader has to guess a unit.
func NewLogger(w io.Writer, level slog.Leveler, format string, tty bool) *slog.Logger {
	if format == "text" || format != "json" && tty {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindDuration {
				a.Value = slog.StringValue(a.Value.Duration().String())
			}
			return a
		},
	}))
}
