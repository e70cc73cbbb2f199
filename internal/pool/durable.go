package pool

import "shunt/internal/quota"

// Export returns the quota of every identity about which something is known, for the next process (QUO-31).
func (r *Registry) Export() Quotas {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	records := make(Quotas, len(r.health))
	for key, h := range r.health {
		state := h.Quota
		state.Expire(now)
		if record := state.Export(); record != (quota.Record{}) {
			records[key] = record
		}
	}
	return records
}

// Import restores the quota that an earlier process exported (QUO-34). Call it before the first selection.
func (r *Registry) Import(records Quotas) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for key, record := range records {
		r.healthOf(key).Quota = quota.Import(r.tables[key.Family()], record, now)
	}
}
