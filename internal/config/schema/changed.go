package schema

import "reflect"

// Changed returns the keys that differ between two owners of the document and take effect only at the next start. It looks
// at [Single] tables.
func (s *Schema) Changed(before, after any) []string { return s.Root.changed("", before, after) }

func (t *Table) changed(parent string, before, after any) []string {
	heading := t.heading(parent)
	var changed []string
	for _, k := range t.Keys {
		if k.Restart && !reflect.DeepEqual(k.get(before), k.get(after)) {
			changed = append(changed, Spot{table: heading, key: k.Name}.String())
		}
	}
	if t.Restart && *t.Presence(before) != *t.Presence(after) {
		changed = append(changed, heading)
	}
	for i := range t.Tables {
		if sub := &t.Tables[i]; sub.Form == Single {
			was, _ := sub.Owner(before, "")
			is, _ := sub.Owner(after, "")
			changed = append(changed, sub.changed(heading, was, is)...)
		}
	}
	return changed
}
