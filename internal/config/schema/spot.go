package schema

import "strings"

// Spot identifies a key, or a table, that a configuration can set.
type Spot struct {
	table string
	items items
	key   string // empty: the table itself
}

// items holds, for each list around a spot from the outermost, the number of the table in it, from 1.
type items [2]int

func (i items) in(number int) items {
	if i[0] == 0 {
		return items{number}
	}
	return items{i[0], number}
}

// At returns the spot of a table that is in no list: "server.limits", or "" for the document.
func At(table string) Spot { return Spot{table: table} }

// Of returns a key of the table at s.
func (s Spot) Of(key string) Spot { return Spot{s.table, s.items, key} }

// Table returns the table that the key at s holds.
func (s Spot) Table() Spot { return Spot{s.String(), s.items, ""} }

// Item returns one of the tables that the list at s holds. Index begins at 0.
func (s Spot) Item(index int) Spot { return Spot{s.String(), s.items.in(index + 1), ""} }

// Key returns the last part of the spot's name, empty for a table.
func (s Spot) Key() string { return s.key }

// String returns the name as problems show it: "server.limits.max_bytes".
func (s Spot) String() string { return strings.Trim(s.table+"."+s.key, ".") }

// parent returns the heading of the table around another.
func parent(heading string) string {
	return heading[:max(0, strings.LastIndexByte(heading, '.'))]
}
