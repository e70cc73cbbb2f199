package wire

import "bytes"

// SetMember returns an edit that sets the value of a member of the object whose brace is at open. Src must be valid JSON. If
// there are several members with the name, the edit sets the last. If there is none, it adds one after the member named
// after, or after the last member if after is empty, with the same white space. If that does not exist either, the edit is the
// zero Edit.
func SetMember(src []byte, open int, name string, value []byte, after string) Edit {
	var found, key, behind Span
	for o := ObjectAt(src, open); o.Next(); {
		if o.Is(name) {
			found = o.Value
		}
		if after == "" || o.Is(after) {
			key, behind = o.Key, o.Value
		}
	}
	switch {
	case found != (Span{}):
		return Edit{found, value}
	case behind == (Span{}):
		return Edit{}
	}
	lead := src[:key.Start]
	lead = lead[len(bytes.TrimRight(lead, " \t\r\n")):]
	with := append([]byte{','}, lead...)
	with = AppendQuoted(with, name)
	with = append(with, src[key.End:behind.Start]...)
	return Edit{Span{behind.End, behind.End}, append(with, value...)}
}
