package app

import (
	"slices"

	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/dialect/chat"
	"shunt/internal/dialect/messages"
	"shunt/internal/dialect/responses"
	"shunt/internal/family"
	"shunt/internal/family/chatgpt"
	"shunt/internal/family/claude"
	"shunt/internal/family/keyed"
	"shunt/internal/family/kimi"
	"shunt/internal/quota"
)

// Registry returns the families of accounts that shunt knows. A new one is a package and a line here, at the end: the order is that
// of texts and lists, clients poll their usage in the form of the first family that has one ([App.clientUsageEndpoint]), and
// where no pool is configured, shunt shows what the first has.
func Registry() []*family.Family {
	return []*family.Family{
		&claude.Family, &chatgpt.Family, &kimi.Family,
	}
}

// withoutAccounts say what the responses of providers with a key mean, where no family of accounts does.
var withoutAccounts = families{&keyed.Responses, &keyed.Chat, &keyed.Gemini}

// dialects are the dialects of clients.
var dialects = []dialect.Inbound{messages.Dialect{}, responses.Dialect{}, chat.Dialect{}}

// families are the families of accounts that an [App] knows.
type families []*family.Family

// of returns the family of a pool's accounts.
func (fs families) of(p *config.Provider) *family.Family {
	return fs.find(func(f *family.Family) bool { return f.Auth == string(p.Auth) })
}

// responsesOf returns the family that defines the responses of a provider without accounts, wherever it is in the list.
func (fs families) responsesOf(p *config.Provider) *family.Family {
	return append(slices.Clip(fs), withoutAccounts...).find(func(f *family.Family) bool { return f.DefinesKind && f.Kind == string(p.Kind) })
}

func (fs families) find(wanted func(*family.Family) bool) *family.Family {
	for _, f := range fs {
		if wanted(f) {
			return f
		}
	}
	return nil
}

// tables returns the quota windows of each family, by its name.
func (fs families) tables() map[string]*quota.Table {
	tables := map[string]*quota.Table{}
	for _, f := range fs {
		tables[f.Name] = f.Windows
	}
	return tables
}

// Families returns the registered families for the configuration.
func Families() []config.Family { return ConfigFamilies(Registry()) }

// ConfigFamilies returns what the configuration knows of families.
func ConfigFamilies(of []*family.Family) []config.Family {
	known := make([]config.Family, len(of))
	for i, f := range of {
		known[i] = config.Family{
			Name: f.Name, Store: f.Store, Kind: config.Kind(f.Kind), Auth: config.Auth(f.Auth), Hosts: f.Hosts, Windows: configWindows(f),
		}
		if f.BaseURL != "" {
			known[i].Preset, known[i].BaseURL = f.Provider, f.BaseURL
		}
		if f.Program != nil {
			known[i].Program = f.Program.Name
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
