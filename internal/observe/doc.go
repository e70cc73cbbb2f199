// Package observe is what shunt tells its operator: the process's logger, one [Record] a request (to the logger, to the
// [RequestLog], to [Metrics] and to [Traces]), and [Health], the named conditions that log, page and status command all
// show.
//
// It decides nothing and knows no other package of shunt: whoever owns a fact hands it over as plain values. Nothing here
// may carry a token, a prompt or a completion (OBS-1). Everything exported is safe for concurrent use.
package observe
