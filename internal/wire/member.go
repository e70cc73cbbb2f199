package wire

import "bytes"

// SetMember returns the edits that give a member of an object another value; open is the index of the object's brace, in
// valid JSON. The last member of the name gets it. If there is none, the edit adds one behind the member called after, or
// behind the last where that is empty, in the style in which it is written. An object without such a member stays as it is.
func SetMember(src []byte, open int, name string, value []byte, after string) Edit {
	var found, behind Span
	var key Span
	for o := ObjectAt(src, open); o.Next(); {
		if o.Is(name) {
			found = o.Value
		}
		if after == "" || o.Is(after) {
			key, behind = o.Key, o.Value
		}
	}
	if found != (Span{}) || behind == (Span{}) {
		return Edit{found, value}
	}
	lead := src[:key.Start]
	lead = lead[len(bytes.TrimRight(lead, " \t\r\n")):]
	with := append([]byte{','}, lead...)
	with = AppendQuoted(with, name)
	with = append(with, src[key.End:behind.Start]...)
	return Edit{Span{behind.End, behind.End}, append(with, value...)}
}
