package schema

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

var wholeVariable = regexp.MustCompile(`^` + variableName + `$`)

// expand replaces the references in a string of the file (CFG-4): ${NAME} anywhere, ${file:/abs/path} as the whole
// value, $${ for a literal ${. The replacement is not searched for references. Errors hold names, never values.
func (s *Source) expand(text string) (string, error) {
	var out strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			out.WriteString(rest)
			return out.String(), nil
		}
		if strings.HasSuffix(before, "$") {
			out.WriteString(before)
			out.WriteByte('{')
			rest = after
			continue
		}
		reference, after, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New("a ${ is not closed by }; write $${ for a literal ${")
		}
		whole := before == "" && after == "" && rest == text
		value, err := s.resolve(reference, whole)
		if err != nil {
			return "", err
		}
		out.WriteString(before)
		out.WriteString(value)
		rest = after
	}
}

// isReference reports whether a string of the file is one reference and nothing else.
func isReference(text string) bool {
	return strings.HasPrefix(text, "${") && strings.IndexByte(text, '}') == len(text)-1
}

func (s *Source) resolve(reference string, whole bool) (string, error) {
	scheme, path, schemed := strings.Cut(reference, ":")
	switch {
	case !schemed:
		if !wholeVariable.MatchString(reference) {
			return "", errors.New("a ${...} does not name an environment variable; write ${NAME}, ${file:/absolute/path} or, for a literal ${, $${")
		}
		value, ok := s.Env[reference]
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", reference)
		}
		return value, nil
	case scheme != "file":
		return "", errors.New("a ${...} has an unknown scheme; write ${NAME} or ${file:/absolute/path}")
	case !whole:
		return "", errors.New("a ${file:...} must be the whole value")
	case !filepath.IsAbs(path):
		return "", errors.New("a ${file:...} must name an absolute path")
	}
	content, err := s.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file %s %w", path, err)
	}
	return strings.TrimSpace(string(content)), nil
}
