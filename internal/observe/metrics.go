package observe

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the Prometheus counters and gauges of a process (OBS-2). Requests are counted when they have ended; gauges are
// read from [Sources] at each scrape. Label values come from the configuration or from this package, except models and
// error types, whose number is limited. No label names a session or a client.
type Metrics struct {
	registry *prometheus.Registry
	models   labels
	kinds    labels // of error events

	requests, attempts, rotations, truncated, failed, gone, moves, dropped, tokens, refreshes *prometheus.CounterVec
	duration, firstByte, head                                                                 *prometheus.HistogramVec

	requestMemo memo[requestKey, requestSeries]
	callMemo    memo[callKey, callSeries]
	tokenMemo   memo[tokenKey, tokenSeries]
}

// Sources are the functions that a [Metrics] calls at each scrape.
type Sources struct {
	InFlight     func() int64 // inference requests
	LostLines    func() int64 // lines missing from the request log; never decreases
	Conditions   func() int   // active ones
	PoolAccounts func() []PoolAccount
}

// Buckets in seconds: a short response from the cache takes less than a second, a long one with thinking takes minutes.
var (
	waitBuckets     = []float64{0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300}
	durationBuckets = []float64{0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1280}
)

// NewMetrics returns metrics whose counters are zero.
func NewMetrics(version string, s Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), models: labels{limit: maxModels}, kinds: labels{limit: maxErrorTypes}}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(h)
		return h
	}
	m.requests = counter("shunt_requests_total",
		"Completed inference requests, by the status sent to the client (none: the client disconnected first).", "provider", "status")
	m.duration = histogram("shunt_request_duration_seconds",
		"Time from the arrival of a request to the last byte of its response.", durationBuckets, "provider", "stream")
	m.firstByte = histogram("shunt_request_first_byte_seconds",
		"Time from the arrival of a request to the first byte of its response.", waitBuckets, "provider", "stream")
	m.attempts = counter("shunt_upstream_attempts_total",
		"Requests sent to upstreams, by outcome (reason).", "provider", "account", "reason")
	m.head = histogram("shunt_upstream_response_seconds",
		"Time from sending a request to an upstream to receiving the head of its response.", waitBuckets, "provider")
	m.rotations = counter("shunt_rotations_total",
		"Failovers of requests from an account, or from an upstream of a chain (which has no account).", "provider", "account", "reason")
	m.moves = counter("shunt_session_moves_total", "Moves of sessions from one account to another.", "provider", "reason")
	m.dropped = counter("shunt_dropped_total",
		"Parts of requests that were not sent because only another account understands them, by kind: reasoning, state.", "provider", "kind")
	m.truncated = counter("shunt_streams_cut_total",
		"Responses truncated after the first byte, by cause: "+UpstreamEnded+", "+UpstreamIdle+".", "provider", "account", "cause")
	m.failed = counter("shunt_stream_errors_total",
		"Streams with status 200 that contained an error event, by the type of the error.", "provider", "account", "type")
	m.gone = counter("shunt_clients_gone_total", "Requests whose client disconnected before the end of the response.", "provider")
	m.tokens = counter("shunt_tokens_total",
		"Tokens reported in responses, by kind: input, output, cache_read, cache_creation.", "provider", "account", "model", "kind")
	m.refreshes = counter("shunt_refreshes_total",
		"Requests to the token endpoint, by result: success, refused (a new login is needed), failed.", "provider", "account", "result")

	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "shunt_build_info", Help: "Always 1; the label is the version of shunt."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(
		build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "shunt_requests_in_flight", Help: "In-flight inference requests."},
			func() float64 { return float64(s.InFlight()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "shunt_conditions", Help: "Conditions that need an operator's attention."},
			func() float64 { return float64(s.Conditions()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "shunt_request_log_lost_lines_total", Help: "Lines that could not be written to the request log."},
			func() float64 { return float64(s.LostLines()) }),
		poolCollector(s.PoolAccounts),
	)
	m.requestMemo.make, m.callMemo.make, m.tokenMemo.make = m.requestSeries, m.callSeries, m.tokenSeries
	return m
}

// Handler serves scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Count counts a request that has ended.
func (m *Metrics) Count(r *Record) {
	request := m.requestMemo.of(requestKey{r.Provider, r.Status, r.Stream})
	request.total.Inc()
	request.duration.Observe(seconds(r.Duration))
	if r.TTFB > 0 {
		request.firstByte.Observe(seconds(r.TTFB))
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		call := m.callMemo.of(callKey{c.Provider, c.Account, c.Result})
		call.total.Inc()
		if c.Status != 0 {
			call.head.Observe(c.Head.Seconds())
		}
	}
	for _, step := range r.Rotations {
		if step.Provider == "" {
			m.rotations.WithLabelValues(step.From, "", step.Reason).Inc()
		} else {
			m.rotations.WithLabelValues(step.Provider, step.From, step.Reason).Inc()
		}
	}
	if r.Move != nil {
		m.moves.WithLabelValues(r.Provider, r.Move.Reason).Inc()
	}
	if n := r.Dropped.Reasoning; n > 0 {
		m.dropped.WithLabelValues(r.Provider, "reasoning").Add(float64(n))
	}
	if n := r.Dropped.State; n > 0 {
		m.dropped.WithLabelValues(r.Provider, "state").Add(float64(n))
	}
	switch r.End {
	case Truncated:
		m.truncated.WithLabelValues(r.Provider, r.Account, r.TruncationCause).Inc()
	case Failed:
		m.failed.WithLabelValues(r.Provider, r.Account, m.kinds.label(r.StreamError)).Inc()
	case ClientGone:
		m.gone.WithLabelValues(r.Provider).Inc()
	}
	if t := r.Tokens; t != nil {
		tokens := m.tokenMemo.of(tokenKey{r.Provider, r.Account, m.models.label(r.Model)})
		tokens.input.Add(float64(t.Input))
		tokens.output.Add(float64(t.Output))
		tokens.cacheRead.Add(float64(t.CacheRead))
		tokens.cacheCreation.Add(float64(t.CacheCreation))
	}
}

// Refreshed counts a request to the token endpoint. The help of the metric lists the possible results.
func (m *Metrics) Refreshed(provider, account, result string) {
	m.refreshes.WithLabelValues(provider, account, result).Inc()
}

func seconds(d Millis) float64 { return time.Duration(d).Seconds() }
