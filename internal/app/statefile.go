package app

import (
	"context"
	"maps"
	"time"

	"shunt/internal/clock"
	"shunt/internal/observe"
	"shunt/internal/pool"
)

const (
	saveInterval  = 15 * time.Second // between two looks whether quota has changed (QUO-30)
	savePatience  = 10 * time.Second // for one write
	saveCondition = "quota not saved"
)

// quotaMemory carries the registry's quota from one run to the next in server.pool.state_path (QUO-30).
type quotaMemory struct {
	file     *quotaFile
	registry *pool.Registry
	health   *observe.Health
	clock    clock.Clock
	saved    pool.Quotas // what the file says
	stale    bool        // it says so in an old version
}

// recall takes in what an earlier run has left, before the first selection. A file that cannot be read costs a cold start
// and no more (QUO-32); the error is for the log.
func recall(path string, registry *pool.Registry, health *observe.Health, c clock.Clock) (*quotaMemory, error) {
	m := &quotaMemory{file: newQuotaFile(path, quotaTables()), registry: registry, health: health, clock: c}
	saved, current, err := m.file.Load(context.Background(), c.Now())
	registry.Import(saved)
	m.saved, m.stale = saved, !current
	return m, err
}

// keep saves what has changed until ctx ends. The end of the process saves once more.
func (m *quotaMemory) keep(ctx context.Context) {
	for m.clock.Sleep(ctx, saveInterval) == nil {
		m.save()
	}
}

// save writes the file if it would say something else than it does.
func (m *quotaMemory) save() {
	known := m.registry.Export()
	if !m.stale && maps.Equal(known, m.saved) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), savePatience)
	defer cancel()
	if err := m.file.Save(ctx, known); err != nil {
		m.health.Set(saveCondition, err.Error())
		return
	}
	m.saved, m.stale = known, false
	m.health.Clear(saveCondition)
}
