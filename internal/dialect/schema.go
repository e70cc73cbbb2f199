package dialect

import "shunt/internal/wire"

// AppendObjectSchema appends a schema of a tool's arguments as one of an object, which every vendor requires: with a type and
// properties, without $schema, and without a member required that is not a list. Everything else stays as it is.
func AppendObjectSchema(dst, schema []byte) []byte {
	dst = append(dst, '{')
	hasType, hasProperties := false, false
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	start := len(dst)
	for members := wire.OpenObject(schema); members.Next(); {
		switch {
		case members.Is("$schema"), members.Is("required") && members.Raw()[0] != '[':
			continue
		case members.Is("type"):
			hasType = true
		case members.Is("properties"):
			hasProperties = true
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, members.Key.Of(schema)...)
		dst = append(dst, ':')
		dst = append(dst, members.Raw()...)
	}
	if !hasType {
		comma()
		dst = append(dst, `"type":"object"`...)
	}
	if !hasProperties {
		comma()
		dst = append(dst, `"properties":{}`...)
	}
	return append(dst, '}')
}
