package app

import (
	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/quota"
)

// families are the families of accounts that shunt knows. A new one is a package and a line here.
var families = []*family.Family{&claude.Family}

// dialects are what clients may speak.
var dialects = []dialect.Inbound{messages.Dialect{}}

// quotaTables returns the quota windows of each family, by its name.
func quotaTables() map[string]*quota.Table {
	tables := map[string]*quota.Table{}
	for _, f := range families {
		tables[f.Name] = f.Windows
	}
	return tables
}
