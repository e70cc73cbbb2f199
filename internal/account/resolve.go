package account

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"shunt/internal/identity"
	"shunt/internal/oauth"
)

// entry is an account that is being resolved.
type entry struct {
	provider string
	spec     Spec
	source   *source
	stored   bool        // in the store, not inline
	written  oauth.Owner // in the credential
	owner    oauth.Owner // with what the configuration adds
	key      identity.Key
}

func (e *entry) title() string { return e.provider + "/" + e.spec.Name }

// Resolve returns the accounts of each provider, in the order of its specs. A provider without specs has every usable file
// of its family's store, in file-name order (ACC-4). Resolve reads the files and decides which identity each account has,
// over all of them (ID-1, ID-1b). A credential that has not changed keeps its state, so Resolve may be called at every
// reload and after every value of [Keeper.Changes]. It returns a warning about everything that it cannot use, once each.
//
// A configured account without a credential is included; it has no token until there is one (CFG-23).
func (k *Keeper) Resolve(listings map[string]Listing) (accounts map[string][]*Account, warnings []string) {
	k.resolving.Lock()
	defer k.resolving.Unlock()
	w := warner{keeper: k}
	var stored []*source
	for _, f := range k.families {
		stored = append(stored, k.readStore(f, &w)...)
	}
	var entries []*entry
	for _, provider := range slices.Sorted(maps.Keys(listings)) {
		family := k.family(listings[provider].Family)
		if len(listings[provider].Specs) == 0 {
			for _, s := range stored {
				if s.family != family || w.skipped(s) {
					continue
				}
				name, _ := entryName(s.name)
				entries = append(entries, &entry{provider: provider, spec: Spec{Name: name}, source: s, stored: true})
			}
		}
		for _, spec := range listings[provider].Specs {
			e := k.locate(provider, family, spec)
			if !slices.Contains(stored, e.source) {
				e.source.load()
			}
			entries = append(entries, e)
			w.unusable(e)
		}
	}
	for _, e := range entries {
		w.exposed(e.source)
	}
	identify(entries, stored, &w)
	k.attach(entries, stored)
	w.aliases(entries)
	w.sharedLogins(entries)

	accounts = map[string][]*Account{}
	for provider := range listings {
		accounts[provider] = nil
	}
	for _, e := range entries {
		accounts[e.provider] = append(accounts[e.provider],
			&Account{name: e.spec.Name, provider: e.provider, key: e.key, uuid: e.owner.Account, owner: e.written, source: e.source})
	}
	return accounts, w.warnings
}

// readStore reads all files of a family's store that could be entries.
func (k *Keeper) readStore(f *Family, w *warner) []*source {
	k.mu.Lock()
	documents := k.storeOf(f.Dir)
	k.mu.Unlock()
	names, err := documents.List(context.WithoutCancel(k.ctx))
	if err != nil {
		w.once(fmt.Sprintf("the account store cannot be read: %v", err))
		names = k.known(f)
	}
	var sources []*source
	for _, name := range names {
		if _, ok := entryName(name); !ok {
			if strings.HasSuffix(name, ".json") {
				w.once(fmt.Sprintf("skipped in the account store: %s: a name has only a-z, 0-9 and -", name))
			}
			continue
		}
		s := k.sourceAt(place{f, f.Dir, name})
		s.load()
		sources = append(sources, s)
	}
	return sources
}

// known returns the names of the documents of a family's store that are in use, in byte order.
func (k *Keeper) known(f *Family) []string {
	var names []string
	for _, s := range k.allSources() {
		if s.family == f && s.dir == f.Dir {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return names
}

// locate returns the entry of a spec, with its source (ACC-1..3).
func (k *Keeper) locate(provider string, f *Family, spec Spec) *entry {
	e := &entry{provider: provider, spec: spec}
	switch {
	case spec.TokenEnv != "":
		e.source = k.sourceAt(place{f, "", spec.TokenEnv})
	case spec.Credentials != "":
		dir, name := filepath.Split(filepath.Clean(spec.Credentials))
		e.source = k.sourceAt(place{f, filepath.Clean(dir), name})
	default:
		e.source, e.stored = k.sourceAt(place{f, f.Dir, spec.Name + ".json"}), true
	}
	return e
}

// load reads a source for Resolve.
func (s *source) load() {
	if s.store == nil {
		s.updateFromVariable(s.keeper.getenv(s.name))
		return
	}
	ctx := context.WithoutCancel(s.keeper.ctx)
	s.refreshFromDisk(ctx)
	if _, err := s.usable(); err == nil && !s.searched {
		s.searched = true
		s.recoverAtStart(ctx)
	}
}

// identify gives every entry its key (ID-1, ID-1b). The files of the stores count even where nothing uses them.
func identify(entries []*entry, stored []*source, w *warner) {
	type account struct{ family, uuid string }
	organizations := map[account]map[string]bool{}
	count := func(family string, o oauth.Owner) {
		if o.Account != "" && o.Organization != "" {
			a := account{family, o.Account}
			if organizations[a] == nil {
				organizations[a] = map[string]bool{}
			}
			organizations[a][o.Organization] = true
		}
	}
	for _, s := range stored {
		known, _ := s.knownOwner(w)
		count(s.family.Name, known)
	}
	for _, e := range entries {
		var known oauth.Owner
		known, e.written = e.source.knownOwner(w)
		e.owner.Account = cmp.Or(oauth.ParseUUID(e.spec.UUID), known.Account)
		e.owner.Organization = cmp.Or(oauth.ParseUUID(e.spec.OrganizationUUID), known.Organization)
		if e.owner.Account == known.Account {
			e.owner.User = known.User
		}
		count(e.source.family.Name, e.owner)
	}
	for _, e := range entries {
		family := e.source.family.Name
		split := len(organizations[account{family, e.owner.Account}]) > 1
		switch {
		case e.owner.User != "": // GPT-4
			e.key = identity.OfAccount(family, e.owner.Account, e.owner.User)
			continue
		case e.owner.Account != "" && !split:
			e.key = identity.OfAccount(family, e.owner.Account, "")
			continue
		case e.owner.Account != "" && e.owner.Organization != "":
			e.key = identity.OfAccount(family, e.owner.Account, e.owner.Organization)
			continue
		case e.stored:
			e.key = identity.OfStoreEntry(family, e.spec.Name)
		default:
			e.key = identity.OfInline(family, e.provider, e.spec.Name)
		}
		if split {
			w.once(fmt.Sprintf("account %s: its account UUID is in use in two organizations, and its own organization is unknown, "+
				"so it counts as another account: set organization_uuid", e.title()))
		}
	}
}

// attach records in each source which entries use it, forgets unused sources, and updates the watch list.
func (k *Keeper) attach(entries []*entry, stored []*source) {
	titles, keys, owners := map[*source][]string{}, map[*source][]identity.Key{}, map[*source]oauth.Owner{}
	watched := map[string][]string{}
	for _, f := range k.families {
		watched[f.Dir] = nil
	}
	for _, e := range entries {
		s := e.source
		titles[s] = append(titles[s], e.title())
		owners[s] = e.written
		if !slices.Contains(keys[s], e.key) {
			keys[s] = append(keys[s], e.key)
		}
		if names, all := watched[s.dir]; s.store != nil && (!all || names != nil) && !slices.Contains(names, s.name) {
			watched[s.dir] = append(watched[s.dir], s.name)
		}
	}
	var all []*source
	k.mu.Lock()
	for place, s := range k.sources {
		all = append(all, s)
		if titles[s] == nil && !slices.Contains(stored, s) && !s.busy() {
			delete(k.sources, place)
		}
	}
	changed := !maps.EqualFunc(watched, k.watched, slices.Equal)
	k.watched = watched
	k.mu.Unlock()
	for _, s := range all {
		s.mu.Lock()
		s.titles, s.keys, s.resolved = titles[s], keys[s], owners[s]
		announce := s.unannounced && len(s.keys) > 0
		s.unannounced = s.unannounced && !announce
		s.mu.Unlock()
		s.report()
		if !announce {
			continue
		}
		k.unproven.clear(keys[s])
		for _, key := range keys[s] {
			if k.seen[key] && k.onChange != nil {
				k.onChange(key)
			}
		}
	}
	for _, e := range entries {
		k.seen[e.key] = true
	}
	if changed {
		k.signal(k.rewatch)
	}
}

// entryName returns the name of the store entry in a file, if the file name is valid (ACC-4).
func entryName(file string) (name string, ok bool) {
	name, ok = strings.CutSuffix(file, ".json")
	return name, ok && validName.MatchString(name)
}

var validName = regexp.MustCompile(`^[a-z0-9-]+$`)
