package observe

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the counts and the gauges of a process, in the form of Prometheus (OBS-2). What happens is counted when it
// has ended; what stands is asked for at each scrape. Labels are what the configuration names and what this package lists,
// except the model and the type of an error, whose values are bounded; no session and no client is among them.
type Metrics struct {
	registry *prometheus.Registry
	models   labels
	kinds    labels // of error events

	requests, attempts, rotations, cut, failed, gone, moves, tokens, refreshes *prometheus.CounterVec
	duration, firstByte, head                                                  *prometheus.HistogramVec

	requestMemo memo[requestKey, requestSeries]
	callMemo    memo[callKey, callSeries]
	tokenMemo   memo[tokenKey, tokenSeries]
}

// Standing is what a [Metrics] asks for at each scrape.
type Standing struct {
	InFlight     func() int64 // inference requests in hand
	LostLines    func() int64 // of the request log; never less than before
	Conditions   func() int   // that hold
	PoolAccounts func() []PoolAccount
}

// Buckets in seconds: a cached short answer comes within a second, a long one with thinking takes minutes.
var (
	waitBuckets     = []float64{0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300}
	durationBuckets = []float64{0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1280}
)

// NewMetrics returns metrics that count nothing yet.
func NewMetrics(version string, s Standing) *Metrics {
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
		"Inference requests that ended, by the status the client got (none: it left before there was one).", "provider", "status")
	m.duration = histogram("shunt_request_duration_seconds",
		"Time from a request's arrival to the last byte of its answer.", durationBuckets, "provider", "stream")
	m.firstByte = histogram("shunt_request_first_byte_seconds",
		"Time from a request's arrival to the first byte of its answer.", waitBuckets, "provider", "stream")
	m.attempts = counter("shunt_upstream_attempts_total",
		"Calls of an upstream, by what came of them (reason).", "provider", "account", "reason")
	m.head = histogram("shunt_upstream_response_seconds",
		"Time from the call of an upstream to the head of its answer.", waitBuckets, "provider")
	m.rotations = counter("shunt_rotations_total",
		"Steps of a request away from an account, or from an upstream of a chain (which has no account).", "provider", "account", "reason")
	m.moves = counter("shunt_session_moves_total", "Changes of a session's account.", "provider", "reason")
	m.cut = counter("shunt_streams_cut_total",
		"Responses that were truncated after the first byte, by cause: "+CutByUpstream+", "+CutIdle+".", "provider", "account", "cause")
	m.failed = counter("shunt_stream_errors_total",
		"Streams of status 200 with an error event, by the type of the error.", "provider", "account", "type")
	m.gone = counter("shunt_clients_gone_total", "Requests whose client left before the end of the answer.", "provider")
	m.tokens = counter("shunt_tokens_total",
		"Tokens that answers reported, by kind: input, output, cache_read, cache_creation.", "provider", "account", "model", "kind")
	m.refreshes = counter("shunt_refreshes_total",
		"Calls of the token endpoint, by result: success, refused (a new login is needed), failed.", "provider", "account", "result")

	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "shunt_build_info", Help: "Always 1; its label is the version of shunt."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(
		build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "shunt_requests_in_flight", Help: "Inference requests in hand."},
			func() float64 { return float64(s.InFlight()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "shunt_conditions", Help: "Conditions that need a person."},
			func() float64 { return float64(s.Conditions()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "shunt_request_log_lost_lines_total", Help: "Lines that the request log could not write."},
			func() float64 { return float64(s.LostLines()) }),
		poolCollector(s.PoolAccounts),
	)
	m.requestMemo.make, m.callMemo.make, m.tokenMemo.make = m.requestSeries, m.callSeries, m.tokenSeries
	return m
}

// Handler answers scrapes.
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
	switch r.End {
	case Cut:
		m.cut.WithLabelValues(r.Provider, r.Account, r.CutCause).Inc()
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

// Refreshed counts a call of the token endpoint. The result is one of those that the metric's help lists.
func (m *Metrics) Refreshed(provider, account, result string) {
	m.refreshes.WithLabelValues(provider, account, result).Inc()
}

func seconds(d Millis) float64 { return time.Duration(d).Seconds() }
