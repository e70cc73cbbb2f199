package app

import "shunt/internal/family"

// QuotaFile is quotaFile for the tests of package app_test.
type QuotaFile = quotaFile

var NewQuotaFile = newQuotaFile

// Kinds are the families without accounts.
func Kinds() []*family.Family { return kinds }
