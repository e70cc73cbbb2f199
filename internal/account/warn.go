package account

import (
	"fmt"
	"slices"
	"strings"

	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/secret"
	"shunt/internal/store"
	"shunt/internal/userfile"
)

// warner collects the warnings of one Resolve that no earlier one returned.
type warner struct {
	keeper   *Keeper
	warnings []string
}

func (w *warner) once(text string) {
	if !w.keeper.warned[text] {
		w.keeper.warned[text] = true
		w.warnings = append(w.warnings, text)
	}
}

// skipped reports whether a file of the store is left out, and warns once for each version of the file (ACC-4, TOK-7e).
func (w *warner) skipped(s *source) bool {
	_, problem := s.usable()
	if problem != nil && s.warnDue() {
		w.warnings = append(w.warnings, fmt.Sprintf("skipped in the account store: %v", problem))
	}
	return problem != nil
}

// unusable warns about a configured entry without a credential, once for each version of its document.
func (w *warner) unusable(e *entry) {
	if _, problem := e.source.usable(); problem != nil && e.source.warnDue() {
		w.warnings = append(w.warnings, fmt.Sprintf("account %s has no credential: %v", e.title(), problem))
	}
}

// exposed warns about a file with a login that other users can access, once for each version of it (TOK-8b).
func (w *warner) exposed(s *source) {
	if s.store == nil {
		return
	}
	s.mu.Lock()
	version, usable := string(s.seen), s.problem == nil
	s.mu.Unlock()
	present := map[string]bool{}
	if usable {
		for _, exposure := range userfile.Exposures(s.String()) {
			text := exposure.String()
			about := text
			if !exposure.Dir {
				about += version
			}
			if present[about] = true; !s.exposed[about] && !slices.Contains(w.warnings, text) {
				w.warnings = append(w.warnings, text)
			}
		}
	}
	s.exposed = present
}

// aliases warns about entries of one pool that are the same account (ID-3, CFG-45). If the configuration alone shows it,
// loading the configuration has returned the warning.
func (w *warner) aliases(entries []*entry) {
	type group struct {
		provider string
		key      identity.Key
	}
	groups := map[group][]*entry{}
	for _, e := range entries {
		g := group{e.provider, e.key}
		groups[g] = append(groups[g], e)
	}
	for _, first := range entries {
		same := groups[group{first.provider, first.key}]
		if len(same) < 2 || same[0] != first {
			continue
		}
		where, configured := "of the account store", true
		var names []string
		for _, e := range same {
			names = append(names, e.spec.Name)
			configured = configured && e.spec.UUID != ""
			if !e.stored {
				where = "of " + e.provider
			}
		}
		if configured {
			continue
		}
		w.once(fmt.Sprintf("the entries %s %s are the same account and count as one", strings.Join(names, " and "), where))
	}
}

// sharedLogins warns about one login in two places, or in two accounts (TOK-7e).
func (w *warner) sharedLogins(entries []*entry) {
	type login struct {
		places, titles []string
		keys           []identity.Key
	}
	logins := map[secret.String]*login{}
	for _, e := range entries {
		c, problem := e.source.usable()
		if problem != nil || !c.refreshable() {
			continue
		}
		l := logins[c.Refresh]
		if l == nil {
			l = &login{}
			logins[c.Refresh] = l
		}
		l.titles = append(l.titles, e.title())
		if place := e.source.String(); !slices.Contains(l.places, place) {
			l.places = append(l.places, place)
		}
		if !slices.Contains(l.keys, e.key) {
			l.keys = append(l.keys, e.key)
		}
	}
	for _, e := range entries {
		c, _ := e.source.usable()
		switch l := logins[c.Refresh]; {
		case l == nil:
		case len(l.places) > 1:
			w.once(fmt.Sprintf("%s have the same login: a refresh of one invalidates the others, so shunt writes it to all of them; "+
				"log in to each separately", strings.Join(l.places, " and ")))
		case len(l.keys) > 1:
			w.once(fmt.Sprintf("the accounts %s have the same login, in %s, but count as different accounts: list it once, or set the same uuid in both",
				strings.Join(l.titles, " and "), l.places[0]))
		}
	}
}

// warnDue reports whether this version of the document has not been warned about yet.
func (s *source) warnDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.seen + store.Version(" "+s.problem.Error())
	due := s.warned != version
	s.warned = version
	return due
}

// knownOwner returns the owner in the document, without what does not have the form of a UUID, and as it is written.
func (s *source) knownOwner(w *warner) (known, written oauth.Owner) {
	s.mu.Lock()
	written = s.owner
	s.mu.Unlock()
	known = oauth.Owner{
		Account: oauth.ParseUUID(written.Account), Organization: oauth.ParseUUID(written.Organization), User: oauth.ParseUUID(written.User),
	}
	if written.Account != "" && known.Account == "" {
		w.once(fmt.Sprintf("%s: the UUID of the account does not have the form of a UUID and is ignored", s.place))
	}
	if written.Organization != "" && known.Organization == "" {
		w.once(fmt.Sprintf("%s: the UUID of the organization does not have the form of a UUID and is ignored", s.place))
	}
	if written.User != "" && known.User == "" {
		w.once(fmt.Sprintf("%s: the ID of the user has an unexpected form and is ignored", s.place))
	}
	return known, written
}
