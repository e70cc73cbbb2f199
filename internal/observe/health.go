package observe

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/internal/clock"
)

// Health holds the active conditions, the problems that need an operator's attention, such as "account anthropic/work needs
// login". A component sets a condition when it begins and clears it when it ends. Only these transitions are logged, so a
// component may set it again on every failure and clear it on every success.
type Health struct {
	log   *slog.Logger
	clock clock.Clock

	mu         sync.Mutex // held while logging, so that transitions are logged in order
	conditions map[string]Condition
}

// Condition is a current problem.
type Condition struct {
	Name   string    // unique; names the problem
	Detail string    // the latest details; never a secret
	Since  time.Time // when it began
}

// NewHealth returns a Health without conditions that logs every transition.
func NewHealth(log *slog.Logger, c clock.Clock) *Health {
	return &Health{log: log, clock: c, conditions: map[string]Condition{}}
}

// Set activates the named condition. If it is active already, Set only updates its detail.
func (h *Health) Set(name, detail string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, active := h.conditions[name]
	if !active {
		c = Condition{Name: name, Since: h.clock.Now()}
		h.log.Warn("condition began", "condition", name, "detail", detail)
	}
	c.Detail = detail
	h.conditions[name] = c
}

// Clear ends the named condition. It does nothing if the condition is not active.
func (h *Health) Clear(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, active := h.conditions[name]
	if !active {
		return
	}
	delete(h.conditions, name)
	h.log.Info("condition ended", "condition", name, "lasted", h.clock.Now().Sub(c.Since))
}

// List returns the active conditions, sorted by name.
func (h *Health) List() []Condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Condition, 0, len(h.conditions))
	for _, c := range h.conditions {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Condition) int { return strings.Compare(a.Name, b.Name) })
	return list
}
