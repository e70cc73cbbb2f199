package config

import "reflect"

// Changed lists the keys that differ between two configurations and take effect only at the next start (CFG-51).
func Changed(before, after *Config) []string {
	return schema.changed("", before, after)
}

func (t *table) changed(above string, before, after any) []string {
	heading := t.heading(above)
	var changed []string
	for _, k := range t.keys {
		if k.restart && !reflect.DeepEqual(k.get(before), k.get(after)) {
			changed = append(changed, spot{table: heading, key: k.name}.String())
		}
	}
	if t.restart && *t.presence(before) != *t.presence(after) {
		changed = append(changed, heading)
	}
	for i := range t.tables {
		if sub := &t.tables[i]; sub.form == single {
			was, _ := sub.owner(before, "")
			is, _ := sub.owner(after, "")
			changed = append(changed, sub.changed(heading, was, is)...)
		}
	}
	return changed
}
