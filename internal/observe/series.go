package observe

import (
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// memo keeps what make returned for each key, so that a request does not look up each of its series by its labels. There
// are no more keys than series.
type memo[K comparable, V any] struct {
	make func(K) V

	mu    sync.RWMutex
	known map[K]V
}

func (m *memo[K, V]) of(k K) V {
	m.mu.RLock()
	v, ok := m.known[k]
	m.mu.RUnlock()
	if ok {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok = m.known[k]; !ok {
		if m.known == nil {
			m.known = map[K]V{}
		}
		v = m.make(k)
		m.known[k] = v
	}
	return v
}

type requestKey struct {
	provider string
	status   int
	stream   bool
}

type requestSeries struct {
	total               prometheus.Counter
	duration, firstByte prometheus.Observer
}

func (m *Metrics) requestSeries(k requestKey) requestSeries {
	status, stream := "none", strconv.FormatBool(k.stream)
	if k.status != 0 {
		status = strconv.Itoa(k.status)
	}
	return requestSeries{
		m.requests.WithLabelValues(k.provider, status),
		m.duration.WithLabelValues(k.provider, stream), m.firstByte.WithLabelValues(k.provider, stream),
	}
}

type callKey struct{ provider, account, result string }

type callSeries struct {
	total prometheus.Counter
	head  prometheus.Observer
}

func (m *Metrics) callSeries(k callKey) callSeries {
	return callSeries{m.attempts.WithLabelValues(k.provider, k.account, k.result), m.head.WithLabelValues(k.provider)}
}

type tokenKey struct{ provider, account, model string }

type tokenSeries struct{ input, output, cacheRead, cacheCreation prometheus.Counter }

func (m *Metrics) tokenSeries(k tokenKey) tokenSeries {
	of := func(kind string) prometheus.Counter {
		return m.tokens.WithLabelValues(k.provider, k.account, k.model, kind)
	}
	return tokenSeries{of("input"), of("output"), of("cache_read"), of("cache_creation")}
}

// maxModels bounds the values of the label that clients choose.
const maxModels = 50

// models are the ones that were seen first. Only models that an upstream answered for get here.
type models struct {
	mu   sync.RWMutex
	seen map[string]string // labels by the model as it was written
}

// label is the value for a model: "other" once there are too many.
func (m *models) label(model string) string {
	m.mu.RLock()
	label, ok := m.seen[model]
	full := len(m.seen) >= maxModels
	m.mu.RUnlock()
	switch {
	case ok:
		return label
	case full:
		return otherModels
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if label, ok = m.seen[model]; ok {
		return label
	}
	if len(m.seen) >= maxModels {
		return otherModels
	}
	if m.seen == nil {
		m.seen = map[string]string{}
	}
	label = strings.ToValidUTF8(clip(model), "?")
	m.seen[model] = label
	return label
}

const otherModels = "other"
