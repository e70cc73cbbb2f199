package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PoolAccount describes an account of a pool at the time of a scrape.
type PoolAccount struct {
	Provider, Account string
	Available         bool          // it can be chosen now
	Cooldown          time.Duration // remaining
	InFlight          int           // requests
	Windows           []PoolWindow
}

// PoolWindow describes a quota window of an account.
type PoolWindow struct {
	Name           string  // "5h"
	Utilization    float64 // valid if HasUtilization
	HasUtilization bool
	Reset          time.Time // zero = unknown
	Soft           float64   // the threshold at which sessions move to another account
	Headroom       float64   // seconds; may be infinite
}

// poolCollector reads the pools at each scrape, so that updating a pool does not cost anything here.
type poolCollector func() []PoolAccount

func accountGauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("shunt_account_"+name, help, append([]string{"provider", "account"}, labels...), nil)
}

var (
	available   = accountGauge("available", "Whether the account can be chosen now: 1 or 0.")
	cooldown    = accountGauge("cooldown_seconds", "Remaining cooldown of the account; 0 if it is not cooling down.")
	inFlight    = accountGauge("requests_in_flight", "In-flight requests of the account.")
	utilization = accountGauge("utilization_ratio", "Used fraction of the window; absent if unknown.", "window")
	threshold   = accountGauge("threshold_ratio", "Utilization at which sessions move to another account.", "window")
	reset       = accountGauge("reset_timestamp_seconds", "When the window resets, as a Unix timestamp; absent if unknown.", "window")
	headroom    = accountGauge("headroom_seconds", "How long the window lasts beyond its reset at the current pace; negative if it reaches its threshold before the reset.", "window")
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
