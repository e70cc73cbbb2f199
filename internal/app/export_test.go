package app

// QuotaFile is quotaFile for the tests of package app_test.
type QuotaFile = quotaFile

var NewQuotaFile = newQuotaFile
