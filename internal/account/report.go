package account

import "fmt"

// notify reports a new state to the health conditions and, if the credential has changed, to the OnChange function.
func (s *source) notify(changed bool) {
	s.report()
	if !changed || s.keeper.onChange == nil {
		return
	}
	s.mu.Lock()
	keys := s.keys
	s.unannounced = len(keys) == 0 // a new file, perhaps of a known identity: attach announces it
	s.mu.Unlock()
	for _, key := range keys {
		s.keeper.onChange(key)
	}
}

// report sets the health conditions of the source that hold, and clears the others (TOK-7, TOK-7d).
func (s *source) report() {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	holding := s.conditions()
	for name := range s.reported {
		if _, still := holding[name]; !still {
			s.keeper.health.Clear(name)
		}
	}
	for name, detail := range holding {
		s.keeper.health.Set(name, detail)
	}
	s.reported = holding
}

// conditions returns the details of the conditions that hold, by name. A source without entries has none.
func (s *source) conditions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	holding := map[string]string{}
	if len(s.titles) == 0 {
		return holding
	}
	about := "account " + s.titles[0]
	if s.loginReason != "" {
		holding[about+" needs login"] = s.loginReason
		if command, ok := s.loginCommand(); ok {
			holding[about+" needs login"] += "; " + command + " logs in again"
		}
	}
	if s.excluded != "" {
		holding[about+" cannot serve"] = s.excluded
	}
	if s.refreshErr != nil {
		holding[about+" cannot be refreshed"] = s.refreshErr.Error()
	}
	if s.rotated != nil && s.writeErr != nil {
		holding[about+" cannot be saved"] = fmt.Sprintf(
			"its new login is only in memory and is lost when shunt exits, because %s cannot be written: %v", s.place, s.writeErr)
	}
	return holding
}

// title returns the name of the source in the log.
func (s *source) title() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.titles) > 0 {
		return s.titles[0]
	}
	return s.String()
}
