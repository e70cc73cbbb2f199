package account

import "fmt"

// Remedy returns what a person can do about an account whose credential is rejected, as a clause for a sentence. It names no
// path (ERR-3).
func (a *Account) Remedy() string {
	s := a.source
	switch name, stored := s.entry(); {
	case s.dir == "":
		return fmt.Sprintf("put a new token into the variable %s and restart shunt", s.name)
	case stored:
		return s.family.loginCommand(name) + " logs in again"
	}
	return "log in again with the program that its credentials file belongs to"
}
