package account

import (
	"cmp"
	"fmt"
)

// Remedy returns how to replace a rejected credential, as a clause of a sentence. It contains no path (ERR-3).
func (a *Account) Remedy() string {
	s := a.source
	if command, ok := s.loginCommand(); ok {
		return command + " logs in again"
	}
	if s.dir == "" {
		return fmt.Sprintf("put a new token into the variable %s and restart shunt", s.name)
	}
	return "log in again with the program that its credentials file belongs to"
}

// loginCommand returns the command that logs in again, if the source is in the account store.
func (s *source) loginCommand() (command string, ok bool) {
	name, ok := s.entry()
	return fmt.Sprintf("`shunt login %s --name %s`", cmp.Or(s.family.Login, s.family.Name), name), ok
}
