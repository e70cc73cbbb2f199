package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Names gives the tools of a turn names that an upstream accepts (DIA-1): of at most Longest bytes of the letters, digits, _ and -.
// A name that has to change ends in a hash of the client's, so that it is unique and the same in every turn.
type Names struct {
	Longest int
	Tools   map[string]*Tool // the tools that have another name than the client's, and custom tools; see [Encoded.Tools]
	names   map[ToolName]string
}

// NameTools names the tools of a turn.
func NameTools(t *Turn, longest int) *Names {
	n := &Names{Longest: longest, names: make(map[ToolName]string, len(t.Tools))}
	for i := range t.Tools {
		tool := &t.Tools[i]
		if name := n.Of(tool.Name); name != tool.Name.Name || tool.Name.Namespace != "" || tool.Kind == CustomTool {
			if n.Tools == nil {
				n.Tools = map[string]*Tool{}
			}
			n.Tools[name] = tool
		}
	}
	return n
}

// Of returns the upstream's name of a tool, which need not be a tool of the turn.
func (n *Names) Of(name ToolName) string {
	known, ok := n.names[name]
	if !ok {
		known = n.make(name)
		n.names[name] = known
	}
	return known
}

func (n *Names) make(name ToolName) string {
	joined := name.Name
	if name.Namespace != "" {
		joined = name.Namespace + "__" + name.Name
	}
	valid := strings.Map(func(c rune) rune {
		if isNameChar(c) {
			return c
		}
		return '_'
	}, joined)
	if valid == joined && len(valid) <= n.Longest && valid != "" {
		return valid
	}
	return shortened(valid, joined, n.Longest)
}

func isNameChar(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// ShortID returns the ID of a call in at most longest bytes: itself, or its beginning and a hash.
func ShortID(id string, longest int) string {
	if len(id) <= longest {
		return id
	}
	return shortened(id, id, longest)
}

// shortened returns the beginning of text and a hash of what it stands for.
func shortened(text, of string, longest int) string {
	sum := sha256.Sum256([]byte(of))
	hash := "_" + hex.EncodeToString(sum[:6])
	return text[:min(len(text), longest-len(hash))] + hash
}
