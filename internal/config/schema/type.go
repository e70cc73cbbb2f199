package schema

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Type is a type of value: its TOML type, and how it is written.
type Type[V any] struct {
	shape  shape
	orList bool   // a list of strings is allowed as well
	expect string // completes "must be"
	parse  func(n *node, from Base) (V, error)
}

// ErrUnexpected says that a value is not what its type expects. The problem then is "must be" and the expectation; any other
// error of a parse function is the text of the problem.
var ErrUnexpected = errors.New("is not what its type expects")

// Base is where relative paths and ~/ start.
type Base struct{ Dir, Home string }

// Text is a string. Expect completes "must be".
func Text[V any](expect string, parse func(text string, from Base) (V, error)) Type[V] {
	return Type[V]{shape: textShape, expect: expect, parse: func(n *node, from Base) (V, error) { return parse(n.text, from) }}
}

// List is a list of strings; parse reads one of them.
func List[V any](expect string, parse func(item string) (V, error)) Type[[]V] {
	return Type[[]V]{shape: listShape, expect: expect, parse: func(n *node, _ Base) ([]V, error) {
		values := make([]V, 0, len(n.items))
		for _, item := range n.items {
			if item.shape != textShape {
				return nil, ErrUnexpected
			}
			value, err := parse(item.text)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	}}
}

// OneOrMore is one string, or a list of strings that is not empty. Expect completes "must be".
func OneOrMore[V any](expect string, item Type[V]) Type[[]V] {
	return Type[[]V]{shape: textShape, orList: true, expect: expect, parse: func(n *node, from Base) ([]V, error) {
		items := []*node{n}
		if n.shape == listShape {
			items = n.items
		}
		values := make([]V, 0, len(items))
		for _, one := range items {
			if one.shape != textShape {
				return nil, ErrUnexpected
			}
			value, err := item.parse(one, from)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		if len(values) == 0 {
			return nil, ErrUnexpected
		}
		return values, nil
	}}
}

// Reference is a string that is one ${...} reference and nothing else; parse reads the value that it refers to.
func Reference[V any](expect string, parse func(value string) (V, error)) Type[V] {
	return Type[V]{shape: textShape, expect: expect, parse: func(n *node, _ Base) (V, error) {
		if !n.reference {
			var none V
			return none, ErrUnexpected
		}
		return parse(n.text)
	}}
}

// Convert is t with its values converted.
func Convert[V, W any](t Type[V], convert func(V) W) Type[W] {
	return Type[W]{shape: t.shape, orList: t.orList, expect: t.expect, parse: func(n *node, from Base) (W, error) {
		v, err := t.parse(n, from)
		if err != nil {
			var none W
			return none, err
		}
		return convert(v), nil
	}}
}

// Optional is t with nil for a value that is not set.
func Optional[V any](t Type[V]) Type[*V] {
	return Convert(t, func(v V) *V { return &v })
}

// Whole is a whole number from low to high. Unit, such as "(bytes)", may be empty.
func Whole[V int | int64](low, high int64, unit string) Type[V] {
	expect := strings.TrimSpace(fmt.Sprintf("a whole number from %d to %d %s", low, high, unit))
	return Type[V]{shape: wholeShape, expect: expect, parse: func(n *node, _ Base) (V, error) {
		number, err := strconv.ParseInt(n.text, 0, 64)
		if err != nil || number < low || number > high {
			return 0, ErrUnexpected
		}
		return V(number), nil
	}}
}

// Number is a number from low to high. NaN is not one.
func Number(low, high float64) Type[float64] {
	return Type[float64]{shape: numberShape, expect: fmt.Sprintf("a number from %v to %v", low, high), parse: func(n *node, _ Base) (float64, error) {
		number, err := strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64)
		if err != nil || !(number >= low && number <= high) { // written so that NaN fails
			return 0, ErrUnexpected
		}
		return number, nil
	}}
}

// Duration is a whole number of units, from low to a year. Name, such as "(seconds)", is the unit's.
func Duration(low int64, unit time.Duration, name string) Type[time.Duration] {
	const year = 365 * 24 * time.Hour
	return Convert(Whole[int64](low, int64(year/unit), name), func(count int64) time.Duration { return time.Duration(count) * unit })
}

// Boolean is true or false.
var Boolean = Type[bool]{shape: boolShape, expect: "true or false", parse: func(n *node, _ Base) (bool, error) {
	return n.text == "true", nil
}}

// Pattern is a string of which a regular expression matches the whole.
func Pattern(expression, expect string) Type[string] {
	re := regexp.MustCompile(`^(?:` + expression + `)$`)
	return Text(expect, func(text string, _ Base) (string, error) {
		if !re.MatchString(text) {
			return "", ErrUnexpected
		}
		return text, nil
	})
}

// Choice is one of a few words.
func Choice[V ~string](words ...V) Type[V] {
	return Text(OneOf(words...), func(text string, _ Base) (V, error) {
		for _, word := range words {
			if text == string(word) {
				return word, nil
			}
		}
		return "", ErrUnexpected
	})
}

// OneOf returns words as in: "a", "b" or "c", with the quotes.
func OneOf[V ~string](words ...V) string {
	var list strings.Builder
	for i, word := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			list.WriteString(" or ")
		default:
			list.WriteString(", ")
		}
		list.WriteString(strconv.Quote(string(word)))
	}
	return list.String()
}

// Path is the path of a file, made absolute.
var Path = Text("the path of a file", func(name string, from Base) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", ErrUnexpected
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if from.Home == "" {
			return "", errors.New("begins with ~/, but the environment variable HOME is not set; write an absolute path")
		}
		name = filepath.Join(from.Home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(from.Dir, name)
	}
	return filepath.Clean(name), nil
})

const variableName = `[A-Za-z_][A-Za-z0-9_]*`

// Variable is the name of an environment variable. What does not look like one may be a secret in the wrong place.
var Variable = Pattern(variableName, "the name of an environment variable (letters, digits and _), not its value")
