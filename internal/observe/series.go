package observe

import (
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// memo caches the result of make for each key, so that a request does not look up each of its series by labels. There are no
// more keys than series.
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

const (
	maxModels     = 50
	maxErrorTypes = 20
)

// labels limits the values of a label that clients or upstreams choose to those that were seen first. Models are counted only
// if an upstream sent a response for them.
type labels struct {
	limit int

	mu   sync.RWMutex
	seen map[string]string // labels by original value
}

// label returns the label for a value, or "other" if there are too many values.
func (l *labels) label(value string) string {
	value = clip(value, maxName)
	l.mu.RLock()
	label, ok := l.seen[value]
	full := len(l.seen) >= l.limit
	l.mu.RUnlock()
	switch {
	case ok:
		return label
	case full:
		return otherValues
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if label, ok = l.seen[value]; ok {
		return label
	}
	if len(l.seen) >= l.limit {
		return otherValues
	}
	if l.seen == nil {
		l.seen = map[string]string{}
	}
	label = strings.ToValidUTF8(value, "?")
	l.seen[value] = label
	return label
}

const otherValues = "other"
