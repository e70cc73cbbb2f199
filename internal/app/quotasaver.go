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
	saveInterval  = 15 * time.Second // between checks whether quota has changed (QUO-30)
	saveTimeout   = 10 * time.Second // of one write
	saveCondition = "quota not saved"
)

// quotaSaver keeps the registry's quota in server.pool.state_path, from one run of the process to the next (QUO-30).
type quotaSaver struct {
	file     *quotaFile
	registry *pool.Registry
	health   *observe.Health
	clock    clock.Clock
	saved    pool.Quotas // in the file
	outdated bool        // the file has an old version
}

// restoreQuotas imports the quota that an earlier run has saved in the file, before the first selection. If the file cannot be read, the
// registry starts empty (QUO-32); the returned error is for the log only.
func restoreQuotas(file *quotaFile, registry *pool.Registry, health *observe.Health, c clock.Clock) (*quotaSaver, error) {
	s := &quotaSaver{file: file, registry: registry, health: health, clock: c}
	saved, current, err := s.file.Load(context.Background(), c.Now())
	registry.Import(saved)
	s.saved, s.outdated = saved, !current
	return s, err
}

// run saves changes until ctx ends.
func (s *quotaSaver) run(ctx context.Context) {
	for s.clock.Sleep(ctx, saveInterval) == nil {
		s.save()
	}
}

// save writes the file if its content would change.
func (s *quotaSaver) save() {
	known := s.registry.Export()
	if !s.outdated && maps.Equal(known, s.saved) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	if err := s.file.Save(ctx, known); err != nil {
		s.health.Set(saveCondition, err.Error())
		return
	}
	s.saved, s.outdated = known, false
	s.health.Clear(saveCondition)
}
