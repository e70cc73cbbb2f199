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
var families = []*family.Family{
	&claude.Family,
}

// Registry returns the families of accounts that shunt knows.
func Registry() []*family.Family { return families }

// familyOf returns the family of a pool's accounts.
func familyOf(p *config.Provider) *family.Family {
	return find(func(f *family.Family) bool { return f.Auth == string(p.Auth) })
}

// responsesOf returns the family that defines the responses of a provider without accounts.
func responsesOf(p *config.Provider) *family.Family {
	return find(func(f *family.Family) bool { return f.Kind == string(p.Kind) })
}

func find(wanted func(*family.Family) bool) *family.Family {
	for _, f := range families {
		if wanted(f) {
			return f
		}
	}
	return nil
}

// dialects are the dialects of clients.
var dialects = []dialect.Inbound{messages.Dialect{}}

// quotaTables returns the quota windows of each family, by its name.
func quotaTables() map[string]*quota.Table {
	tables := map[string]*quota.Table{}
	for _, f := range families {
		tables[f.Name] = f.Windows
	}
	return tables
}

// Families returns the families for the configuration.
func Families() []config.Family {
	known := make([]config.Family, len(families))
	for i, f := range families {
		known[i] = config.Family{
			Name: f.Name, Kind: config.Kind(f.Kind), Auth: config.Auth(f.Auth), Hosts: f.Hosts, Windows: configWindows(f),
		}
	}
	return known
}

// configWindows returns the windows of a family for the configuration's keys.
func configWindows(f *family.Family) []config.Window {
	windows := f.Windows.Windows()
	known := make([]config.Window, len(windows))
	for i, w := range windows {
		known[i] = config.Window{Name: w.Name, Title: w.Title}
	}
	return known
}
