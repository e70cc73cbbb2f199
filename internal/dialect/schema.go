package dialect

import (
	"shunt/internal/wire"
)

// AppendSchema appends the schema of a function's arguments as a schema of an object, in compact form: with a type and
// properties, and without $schema and a required that is not an array. Everything else is unchanged. The schema must be valid
// JSON; anything but an object counts as none.
func AppendSchema(dst []byte, schema []byte) []byte {
	dst = append(dst, '{')
	first, typed, properties := true, false, false
	members := wire.OpenObject(schema)
	for members.Next() {
		switch {
		case members.Is("$schema"), members.Is("required") && members.Raw()[0] != '[':
			continue
		case members.Is("type"):
			if string(members.Raw()) != `"object"` {
				continue
			}
			typed = true
		case members.Is("properties"):
			if members.Raw()[0] != '{' {
				continue
			}
			properties = true
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, members.Key.Of(schema)...), ':')
		dst = wire.AppendCompact(dst, members.Raw())
	}
	for _, missing := range [...]struct {
		there bool
		text  string
	}{{typed, `"type":"object"`}, {properties, `"properties":{}`}} {
		if missing.there {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, missing.text...)
	}
	return append(dst, '}')
}

// AppendArguments appends the arguments of a call as a JSON object, in compact form. Those that are not an object, such as the
// beginning of one in a response that was truncated, become an empty one.
func AppendArguments(dst []byte, arguments string) []byte {
	text := []byte(arguments)
	if wire.OpenObject(text).Err != nil || !wire.Valid(text) {
		return append(dst, "{}"...)
	}
	return wire.AppendCompact(dst, text)
}
