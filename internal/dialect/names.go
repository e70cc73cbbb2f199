package dialect

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// ToolNames are the names of tools in one request to an upstream: at most max bytes of letters, digits, "_" and "-", and
// unique. A tool keeps its name if that allows; a tool in a namespace is called namespace__name.
type ToolNames struct {
	max   int
	of    map[ToolName]string
	taken map[string]bool
	tools map[string]*Tool
}

// NameTools names a turn's tools. The same tools have the same names in every request.
func NameTools(t *Turn, max int) *ToolNames {
	n := &ToolNames{max: max, of: make(map[ToolName]string, len(t.Tools)), taken: make(map[string]bool, len(t.Tools))}
	for i := range t.Tools {
		tool := &t.Tools[i]
		if tool.Kind == SearchTool {
			continue
		}
		if name := n.Of(tool.Name); name != tool.Name.Name || tool.Name.Namespace != "" || tool.Kind == CustomTool {
			if n.tools == nil {
				n.tools = map[string]*Tool{}
			}
			n.tools[name] = tool
		}
	}
	return n
}

// Of returns the name of a tool, which need not be one of the turn's: a conversation may contain calls of others.
func (n *ToolNames) Of(name ToolName) string {
	if short, ok := n.of[name]; ok {
		return short
	}
	whole := name.Name
	if name.Namespace != "" {
		whole = name.Namespace + "__" + name.Name
	}
	short := ValidID(whole, n.max)
	if n.taken[short] {
		short = hashed(short, name.Namespace+"\x00"+name.Name, n.max)
	}
	n.of[name], n.taken[short] = short, true
	return short
}

// Renamed returns what [Encoded.Tools] contains; nil: nothing.
func (n *ToolNames) Renamed() map[string]*Tool { return n.tools }

// ValidID returns an ID of at most max bytes of letters, digits, "_" and "-". One that has this form is unchanged; another
// becomes a prefix of it with a hash, so that equal IDs stay equal and different ones different. It is not empty.
func ValidID(id string, max int) string {
	if id != "" && len(id) <= max && validBytes(id) {
		return id
	}
	return hashed(id, id, max)
}

func validBytes(id string) bool {
	for i := range len(id) {
		if !validByte(id[i]) {
			return false
		}
	}
	return true
}

func validByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// hashed returns the beginning of an ID, with "_" for what is not valid, and a hash.
func hashed(id, of string, max int) string {
	sum := sha256.Sum256([]byte(of))
	suffix := hex.EncodeToString(sum[:6])
	keep := min(len(id), max-len(suffix)-1)
	name := make([]byte, 0, keep+1+len(suffix))
	for _, c := range []byte(id[:keep]) {
		if !validByte(c) {
			c = '_'
		}
		name = append(name, c)
	}
	return string(append(append(name, '_'), suffix...))
}

// ResponseID returns the ID of a response in a client's dialect: a prefix, such as "msg_", and what is after the prefix of the
// upstream's ID, or random characters if that has no ID (DIA-4).
func ResponseID(prefix, upstream string) string {
	for i := range len(upstream) {
		if c := upstream[i]; c == '_' || c == '-' {
			upstream = upstream[i+1:]
			break
		}
	}
	if upstream == "" {
		upstream = rand.Text()
	}
	return prefix + ValidID(upstream, 64)
}
