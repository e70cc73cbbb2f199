package account

import "fmt"

// Remedy returns what a person can do about an account whose credential is rejected, as a clause for a sentence. It names no
// path (ERR-3).
func (a *Account) Remedy() string {
	s := a.source
	switch name, stored := entryName(s.name); {
	case s.dir == "":
		return fmt.Sprintf("put a new token into the variable %s and restart shunt", s.name)
	case stored && s.dir == s.keeper.storeDir:
		return fmt.Sprintf("`shunt login claude --name %s` logs in again", name)
	}
	return "log in again with the program that its credentials file belongs to"
}
