package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"shunt/internal/hosts"
)

// kind is how values of one type are written.
type kind[V any] struct {
	shape  shape
	expect string // completes "must be": what to write
	parse  func(n *node, from base) (V, error)
}

// errUnexpected stands for "must be" and what the kind expects.
var errUnexpected = errors.New("is not what its kind expects")

// base is what relative paths and ~/ start from.
type base struct{ dir, home string }

// whole is a whole number in [low, high].
func whole[V int | int64](low, high int64, unit string) kind[V] {
	return kind[V]{wholeShape, wholeRange(low, high, unit), func(n *node, _ base) (V, error) {
		number, err := strconv.ParseInt(n.text, 0, 64)
		if err != nil || number < low || number > high {
			return 0, errUnexpected
		}
		return V(number), nil
	}}
}

func wholeRange(low, high int64, unit string) string {
	return strings.TrimSpace(fmt.Sprintf("a whole number from %d to %d %s", low, high, unit))
}

// duration is a whole number of units; with low 0 the number 0 is allowed.
func duration(low int64, unit time.Duration, name string) kind[time.Duration] {
	const year = 365 * 24 * time.Hour
	number := whole[int64](low, int64(year/unit), name)
	return kind[time.Duration]{number.shape, number.expect, func(n *node, from base) (time.Duration, error) {
		count, err := number.parse(n, from)
		return time.Duration(count) * unit, err
	}}
}

func seconds() kind[time.Duration] { return duration(0, time.Second, "(seconds)") }

func milliseconds(low int64) kind[time.Duration] {
	return duration(low, time.Millisecond, "(milliseconds)")
}

// interval is a time between two polls: 0, or at least a minute, to which less is raised (QUO-20).
func interval() kind[time.Duration] {
	k := seconds()
	return kind[time.Duration]{k.shape, k.expect, func(n *node, from base) (time.Duration, error) {
		d, err := k.parse(n, from)
		if d > 0 {
			d = max(d, time.Minute)
		}
		return d, err
	}}
}

// fraction is a number in [0, 1].
var fraction = kind[float64]{numberShape, "a number from 0 to 1", func(n *node, _ base) (float64, error) {
	number, err := strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64)
	if err != nil || !(number >= 0 && number <= 1) { // written so that NaN fails (CFG-40)
		return 0, errUnexpected
	}
	return number, nil
}}

// optional is a kind whose value can be absent, which nil stands for.
func optional[V any](k kind[V]) kind[*V] {
	return kind[*V]{k.shape, k.expect, func(n *node, from base) (*V, error) {
		v, err := k.parse(n, from)
		if err != nil {
			return nil, err
		}
		return &v, nil
	}}
}

var boolean = kind[bool]{boolShape, "true or false", func(n *node, _ base) (bool, error) {
	return n.text == "true", nil
}}

// pattern is a string that matches as a whole.
func pattern(expression, expect string) kind[string] {
	re := regexp.MustCompile(`^(?:` + expression + `)$`)
	return kind[string]{textShape, expect, func(n *node, _ base) (string, error) {
		if !re.MatchString(n.text) {
			return "", errUnexpected
		}
		return n.text, nil
	}}
}

// choice is one of a few words.
func choice[V ~string](words ...V) kind[V] {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = strconv.Quote(string(word))
	}
	return kind[V]{textShape, alternatives(quoted), func(n *node, _ base) (V, error) {
		for _, word := range words {
			if n.text == string(word) {
				return word, nil
			}
		}
		return "", errUnexpected
	}}
}

// alternatives joins words as in "a", "b" or "c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

var logLevel = kind[slog.Level]{textShape, `"debug", "info", "warn" or "error"`, func(n *node, _ base) (slog.Level, error) {
	level, ok := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[n.text]
	if !ok {
		return 0, errUnexpected
	}
	return level, nil
}}

var address = kind[netip.AddrPort]{
	textShape, `an IP address and a port, such as "127.0.0.1:3001" or "[::1]:3001"; host names are not resolved`,
	func(n *node, _ base) (netip.AddrPort, error) {
		parsed, err := netip.ParseAddrPort(n.text)
		if err != nil {
			return netip.AddrPort{}, errUnexpected
		}
		return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port()), nil
	},
}

// filePath is a file's name, made absolute.
var filePath = kind[string]{textShape, "the path of a file", func(n *node, from base) (string, error) {
	name := n.text
	if name == "" || strings.ContainsRune(name, 0) {
		return "", errUnexpected
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if from.home == "" {
			return "", errors.New("begins with ~/, but the environment variable HOME is not set; write an absolute path")
		}
		name = filepath.Join(from.home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(from.dir, name)
	}
	return filepath.Clean(name), nil
}}

// variable is the name of an environment variable. What does not look like one may be a secret in the wrong place.
var variable = pattern(variableName.String(), "the name of an environment variable (letters, digits and _), not its value")

// hostNames are names for the Host header, lower case and without port.
var hostNames = kind[[]string]{
	listShape, `a list of host names without scheme and port, such as ["shunt.home.arpa"]`,
	func(n *node, _ base) ([]string, error) {
		hosts := make([]string, 0, len(n.items))
		for _, item := range n.items {
			host, ok := hostName(item.text)
			if item.shape != textShape || !ok {
				return nil, errUnexpected
			}
			hosts = append(hosts, host)
		}
		return hosts, nil
	},
}

var hostLabels = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

func hostName(text string) (string, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.String(), true
	}
	host := hosts.Lower(text)
	return host, len(host) <= 253 && hostLabels.MatchString(host)
}
