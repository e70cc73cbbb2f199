package pool

import (
	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Export is the quota of every identity about which something is known, for a life after this process (QUO-31).
func (r *Registry) Export() map[identity.Key]quota.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	records := make(map[identity.Key]quota.Record, len(r.health))
	for key, h := range r.health {
		state := h.Quota
		state.Expire(now)
		if record := state.Export(); record != (quota.Record{}) {
			records[key] = record
		}
	}
	return records
}

// Import takes in what a process before this one knew (QUO-34). It is called before the first selection.
func (r *Registry) Import(records map[identity.Key]quota.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for key, record := range records {
		r.healthOf(key).Quota = quota.Import(record, now)
	}
}
