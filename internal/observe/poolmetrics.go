package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PoolAccount is an account of a pool at the moment of a scrape.
type PoolAccount struct {
	Provider, Account string
	Available         bool          // it may be chosen now
	Cooldown          time.Duration // what is left of it
	InFlight          int           // requests in hand
	Windows           []PoolWindow
}

// PoolWindow is a quota window of an account. Zero fields with a Has beside them, and a zero Reset, are unknown.
type PoolWindow struct {
	Name           string // "5h"
	Utilization    float64
	HasUtilization bool
	Reset          time.Time
	Soft           float64 // the threshold from which sessions move
	Headroom       float64 // seconds; may be infinite
}

// poolCollector reads the pools at each scrape, so that what they learn costs nothing until somebody looks.
type poolCollector func() []PoolAccount

func accountGauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("shunt_account_"+name, help, append([]string{"provider", "account"}, labels...), nil)
}

var (
	available   = accountGauge("available", "Whether the account may be chosen now: 1 or 0.")
	cooldown    = accountGauge("cooldown_seconds", "What is left of the account's rest; 0 if it has none.")
	inFlight    = accountGauge("requests_in_flight", "Requests that the account has in hand.")
	utilization = accountGauge("utilization_ratio", "How much of the window is used; absent if it is unknown.", "window")
	threshold   = accountGauge("threshold_ratio", "The utilization from which sessions move to another account.", "window")
	reset       = accountGauge("reset_timestamp_seconds", "When the window resets, as Unix time; absent if it is unknown.", "window")
	headroom    = accountGauge("headroom_seconds", "How long the window lasts beyond its reset at its present pace; negative: it reaches its threshold before.", "window")
)

// Describe implements [prometheus.Collector].
func (poolCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{available, cooldown, inFlight, utilization, threshold, reset, headroom} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (accounts poolCollector) Collect(to chan<- prometheus.Metric) {
	for _, a := range accounts() {
		gauge := func(d *prometheus.Desc, v float64, window ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{a.Provider, a.Account}, window...)...)
		}
		up := 0.0
		if a.Available {
			up = 1
		}
		gauge(available, up)
		gauge(cooldown, a.Cooldown.Seconds())
		gauge(inFlight, float64(a.InFlight))
		for _, w := range a.Windows {
			if w.HasUtilization {
				gauge(utilization, w.Utilization, w.Name)
			}
			if !w.Reset.IsZero() {
				gauge(reset, float64(w.Reset.UnixMilli())/1000, w.Name)
			}
			gauge(threshold, w.Soft, w.Name)
			gauge(headroom, w.Headroom, w.Name)
		}
	}
}
