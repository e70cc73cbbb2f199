package account

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"shunt/internal/identity"
)

// entry is one account on its way to being resolved.
type entry struct {
	spec               Spec
	source             *source
	stored             bool   // in the store, not inline
	uuid, organization string // empty: unknown
	key                identity.Key
}

func (e *entry) title() string { return e.spec.Provider + "/" + e.spec.Name }

// Resolve returns the accounts of each provider's entries, in their order; a provider without entries has every usable
// file of the store, in file-name order (ACC-4). It decides whose accounts they are, over all of them (ID-1, ID-1b). It
// reads the files; a credential that is the same as before keeps all that is known of it, so that it may be called at
// every reload and whenever [Keeper.Changes] says so. What it cannot use it says in warnings, each only once.
//
// A configured entry is there even if its credential is not: it has no token until there is one (CFG-23).
func (k *Keeper) Resolve(sets map[string][]Spec) (accounts map[string][]*Account, warnings []string) {
	k.resolving.Lock()
	defer k.resolving.Unlock()
	w := warner{keeper: k}
	store := k.readStore(&w)
	var entries []*entry
	for _, provider := range slices.Sorted(maps.Keys(sets)) {
		if len(sets[provider]) == 0 {
			for _, s := range store {
				if w.skipped(s) {
					continue
				}
				name, _ := entryName(s.name)
				entries = append(entries, &entry{spec: Spec{Provider: provider, Name: name}, source: s, stored: true})
			}
		}
		for _, spec := range sets[provider] {
			e := k.locate(spec)
			e.spec.Provider = provider
			if !slices.Contains(store, e.source) {
				e.source.load()
			}
			entries = append(entries, e)
			w.unusable(e)
		}
	}
	for _, e := range entries {
		w.exposed(e.source)
	}
	identify(entries, store, &w)
	k.settle(entries, store)
	w.aliases(entries)
	w.sharedLogins(entries)

	accounts = map[string][]*Account{}
	for provider := range sets {
		accounts[provider] = nil
	}
	for _, e := range entries {
		accounts[e.spec.Provider] = append(accounts[e.spec.Provider],
			&Account{name: e.spec.Name, provider: e.spec.Provider, key: e.key, uuid: e.uuid, source: e.source})
	}
	return accounts, w.news
}

// readStore reads all files of the store that could be entries.
func (k *Keeper) readStore(w *warner) []*source {
	k.mu.Lock()
	documents := k.storeOf(k.storeDir)
	k.mu.Unlock()
	names, err := documents.List(context.WithoutCancel(k.ctx))
	if err != nil {
		w.once(fmt.Sprintf("the account store cannot be read: %v", err))
		names = k.known(k.storeDir)
	}
	var sources []*source
	for _, name := range names {
		if _, ok := entryName(name); !ok {
			if strings.HasSuffix(name, ".json") {
				w.once(fmt.Sprintf("skipped in the account store: %s: a name has only a-z, 0-9 and -", name))
			}
			continue
		}
		s := k.at(place{k.storeDir, name})
		s.load()
		sources = append(sources, s)
	}
	return sources
}

// known are the names of the documents of a directory that are in use, in byte order.
func (k *Keeper) known(dir string) []string {
	var names []string
	for _, s := range k.all() {
		if s.dir == dir {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return names
}

// locate finds the source of a configured entry (ACC-1..3).
func (k *Keeper) locate(spec Spec) *entry {
	e := &entry{spec: spec}
	switch {
	case spec.TokenEnv != "":
		e.source = k.at(place{"", spec.TokenEnv})
	case spec.Credentials != "":
		dir, name := filepath.Split(filepath.Clean(spec.Credentials))
		e.source = k.at(place{filepath.Clean(dir), name})
	default:
		e.source, e.stored = k.at(place{k.storeDir, spec.Name + ".json"}), true
	}
	return e
}

// load reads a source that Resolve needs.
func (s *source) load() {
	if s.store == nil {
		s.learnVariable(s.keeper.getenv(s.name))
		return
	}
	ctx := context.WithoutCancel(s.keeper.ctx)
	s.look(ctx)
	if _, err := s.usable(); err == nil && !s.searched {
		s.searched = true
		s.recoverAtStart(ctx)
	}
}

// identify gives every entry its key (ID-1, ID-1b). The files of the store count even where nothing uses them.
func identify(entries []*entry, store []*source, w *warner) {
	organizations := map[string]map[string]bool{} // by UUID
	count := func(uuid, organization string) {
		if uuid != "" && organization != "" {
			if organizations[uuid] == nil {
				organizations[uuid] = map[string]bool{}
			}
			organizations[uuid][organization] = true
		}
	}
	for _, s := range store {
		count(s.owner(w))
	}
	for _, e := range entries {
		uuid, organization := e.source.owner(w)
		e.uuid = firstKnown(e.spec.UUID, uuid)
		e.organization = firstKnown(e.spec.OrganizationUUID, organization)
		count(e.uuid, e.organization)
	}
	for _, e := range entries {
		split := len(organizations[e.uuid]) > 1
		switch {
		case e.uuid != "" && !split:
			e.key = identity.OfAccount(claudeFamily, e.uuid, "")
			continue
		case e.uuid != "" && e.organization != "":
			e.key = identity.OfAccount(claudeFamily, e.uuid, e.organization)
			continue
		case e.stored:
			e.key = identity.OfStoreEntry(claudeFamily, e.spec.Name)
		default:
			e.key = identity.OfInline(claudeFamily, e.spec.Provider, e.spec.Name)
		}
		if split {
			w.once(fmt.Sprintf("account %s: its account UUID is in use in two organizations, and which one it belongs to is unknown, "+
				"so it counts as another account: set organization_uuid", e.title()))
		}
	}
}

// settle makes the entries those of the sources, forgets sources that nobody needs any more, and says what to watch.
func (k *Keeper) settle(entries []*entry, store []*source) {
	titles, keys := map[*source][]string{}, map[*source][]identity.Key{}
	watched := map[string][]string{k.storeDir: nil}
	for _, e := range entries {
		s := e.source
		titles[s] = append(titles[s], e.title())
		if !slices.Contains(keys[s], e.key) {
			keys[s] = append(keys[s], e.key)
		}
		if s.store != nil && s.dir != k.storeDir && !slices.Contains(watched[s.dir], s.name) {
			watched[s.dir] = append(watched[s.dir], s.name)
		}
	}
	var all []*source
	k.mu.Lock()
	for place, s := range k.sources {
		all = append(all, s)
		if titles[s] == nil && !slices.Contains(store, s) && !s.busy() {
			delete(k.sources, place)
		}
	}
	differs := !maps.EqualFunc(watched, k.watched, slices.Equal)
	k.watched = watched
	k.mu.Unlock()
	for _, s := range all {
		s.mu.Lock()
		s.titles, s.keys = titles[s], keys[s]
		news := s.untold && len(s.keys) > 0
		s.untold = s.untold && !news
		s.mu.Unlock()
		s.report()
		if !news {
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
	if differs {
		k.signal(k.rewatch)
	}
}

// entryName is the name of the store entry that a file holds, if it may hold one (ACC-4).
func entryName(file string) (name string, ok bool) {
	name, ok = strings.CutSuffix(file, ".json")
	return name, ok && validName.MatchString(name)
}

var (
	validName = regexp.MustCompile(`^[a-z0-9-]+$`)
	validUUID = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

func firstKnown(values ...string) string {
	for _, v := range values {
		if v = strings.TrimSpace(v); validUUID.MatchString(v) {
			return v
		}
	}
	return ""
}

// claudeFamily is the family of the accounts.
const claudeFamily = "claude"
