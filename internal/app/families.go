package app

import (
	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/quota"
)

// families are the families of accounts that shunt knows. A new one is a package and a line here.
var families = []*family.Family{&claude.Family}

// Family returns the family of that name, or nil.
func Family(name string) *family.Family {
	return find(func(f *family.Family) bool { return f.Name == name })
}

// familyOf returns the family of a pool's accounts.
func familyOf(p *config.Provider) *family.Family {
	return find(func(f *family.Family) bool { return f.Auth == string(p.Auth) })
}

func find(wanted func(*family.Family) bool) *family.Family {
	for _, f := range families {
		if wanted(f) {
			return f
		}
	}
	return nil
}

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
