// Package observe reports what shunt does to its operator: the process's logger, one [Record] for each request (to the
// logger, to the [RequestLog], to [Metrics] and to [Traces]), and [Health], the named conditions that the log, the admin page
// and the metrics show.
//
// It makes no decisions and imports no package of shunt except leaves: the owner of a fact passes it as plain values.
// Nothing here may contain a token, a prompt or a completion (OBS-1). Everything exported is safe for concurrent use.
package observe
