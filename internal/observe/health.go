package observe

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/internal/clock"
)

// Health holds the conditions that need an operator: "account anthropic/work needs login", "request log". Its component
// sets one when it begins and clears it when it is over; only those two moments are logged, so a component may repeat
// either on every failure or success.
type Health struct {
	log   *slog.Logger
	clock clock.Clock

	mu         sync.Mutex // held while logging, so that the log tells transitions in their order
	conditions map[string]Condition
}

// Condition is one thing that is wrong at present.
type Condition struct {
	Name   string    // unique; says what is wrong
	Detail string    // the latest circumstances; never a secret
	Since  time.Time // when it began
}

// NewHealth returns a Health without conditions that tells log of every change.
func NewHealth(log *slog.Logger, c clock.Clock) *Health {
	return &Health{log: log, clock: c, conditions: map[string]Condition{}}
}

// Set says that the named condition holds. A condition that holds already keeps its beginning and takes the new detail.
func (h *Health) Set(name, detail string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, held := h.conditions[name]
	if !held {
		c = Condition{Name: name, Since: h.clock.Now()}
		h.log.Warn("condition began", "condition", name, "detail", detail)
	}
	c.Detail = detail
	h.conditions[name] = c
}

// Clear says that the named condition is over. Clearing what does not hold does nothing.
func (h *Health) Clear(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, held := h.conditions[name]
	if !held {
		return
	}
	delete(h.conditions, name)
	h.log.Info("condition over", "condition", name, "lasted", h.clock.Now().Sub(c.Since))
}

// List returns the conditions that hold, by name.
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
