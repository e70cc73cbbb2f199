package account

import "fmt"

// after tells everybody whom it concerns of a new state; changed says that it has another credential.
func (s *source) notify(changed bool) {
	s.report()
	if !changed || s.keeper.onChange == nil {
		return
	}
	s.mu.Lock()
	keys := s.keys
	s.unannounced = len(keys) == 0 // a new file, perhaps of a known identity: settle tells of it
	s.mu.Unlock()
	for _, key := range keys {
		s.keeper.onChange(key)
	}
}

// report sets the conditions of the source's health that hold, and clears those that do not any more (TOK-7, TOK-7d).
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

// conditions are what an operator should know, by the names of the conditions. A source without entries has none.
func (s *source) conditions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	holding := map[string]string{}
	if len(s.titles) == 0 {
		return holding
	}
	about := "account " + s.titles[0]
	if s.loginReason != "" {
		holding[about+" needs login"] = s.loginReason + s.remedy()
	}
	if s.refreshErr != nil {
		holding[about+" cannot be refreshed"] = s.refreshErr.Error()
	}
	if s.rotated != nil && s.writeErr != nil {
		holding[about+" cannot be saved"] = fmt.Sprintf(
			"its new login is only in memory and is lost when shunt ends, because %s cannot be written: %v", s.place, s.writeErr)
	}
	return holding
}

// remedy is what a person can do about a mark, where one command does it.
func (s *source) remedy() string {
	if name, ok := s.entry(); ok {
		return "; " + s.family.loginCommand(name) + " logs in again"
	}
	return ""
}

// title is the name of the source in the log.
func (s *source) title() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.titles) > 0 {
		return s.titles[0]
	}
	return s.String()
}
