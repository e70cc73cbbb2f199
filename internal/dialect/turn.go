package dialect

import "encoding/json"

// Turn is a request in no dialect: the conversation so far and what the model shall do next (DIA-1). It holds what at least two
// dialects can express. A [Inbound.ReadTurn] returns it in a normal form:
//
//   - Messages of one role that follow each other are one message, and none is empty, nor has an empty text.
//   - Results of calls are in the message of the user that follows the calls, in their order, before its other parts.
//   - Every call has exactly one result, unless the conversation ends with it.
//
// [Normalize] brings a conversation into it.
type Turn struct {
	Model  string // as the client requested it
	Stream bool   // whether the client gets the response as a stream of events

	Instructions []Text // the system prompt
	Messages     []Message
	Tools        []Tool
	Choice       ToolChoice
	OneCall      bool // the model makes at most one call at a time

	MaxTokens         int      // of the response; 0: the client does not say
	Temperature, TopP *float64 // nil: the client does not say
	TopK              *int
	Stop              []string // sequences at which the response ends
	Effort            Effort
	Format            *Format // of the response's text; nil: any

	CacheKey    string // the client's own key for the prompt cache; empty: none
	StreamUsage bool   // a chat client wants the usage at the end of its stream
}

// Role is the author of a message.
type Role uint8

// The roles. A System message is an instruction in the middle of the conversation.
const (
	User Role = iota
	Assistant
	System
)

// Message is a part of the conversation with one author.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is a piece of a message: a [Text], [Image], [File], [ToolCall], [ToolResult], [Reasoning] or [WebSearch].
type Part interface{ part() }

// Text is a piece of text.
type Text struct {
	Text    string
	Refusal bool // the assistant refuses with it
}

// Image is an image, as data or at an address.
type Image struct {
	MediaType string // such as "image/png"; empty with a URL
	Data      string // in base64; empty with a URL
	URL       string
	Detail    string // "low", "high" or "auto"; empty: not said
	Member    string // the client's name for it, for errors: "messages[3].content[0]"
}

// File is a document, as data, at an address, or as text.
type File struct {
	Name      string
	MediaType string
	Data      string // in base64
	URL       string
	Text      string // of a plain text document
	Member    string // see [Image.Member]
}

// ToolCall is a call of a tool by the assistant.
type ToolCall struct {
	ID   string
	Name ToolName
	// Arguments is a JSON object. Those of a custom tool are its input, a plain string, and not JSON.
	Arguments string
	Custom    bool
}

// ToolResult is the result of a call.
type ToolResult struct {
	CallID string
	Parts  []Part // [Text], [Image] and [File]
	Failed bool
	Custom bool // of a custom tool
}

// Reasoning is the reasoning of an earlier turn. Opaque is the token by which its provider recognizes it; only Origin can read
// that (RSP-3). Redacted reasoning has no text.
type Reasoning struct {
	ID, Text, Opaque string
	Redacted         bool
	Origin           Origin
}

// WebSearch is a search that the provider ran during an earlier turn (RSP-4).
type WebSearch struct {
	ID, Query string
	Results   []SearchResult
}

// SearchResult is a page that a search found.
type SearchResult struct{ URL, Title, PageAge string }

func (Text) part()        {}
func (*Image) part()      {}
func (*File) part()       {}
func (*ToolCall) part()   {}
func (*ToolResult) part() {}
func (*Reasoning) part()  {}
func (*WebSearch) part()  {}

// ToolName is the name of a tool. Clients may group tools in namespaces.
type ToolName struct{ Namespace, Name string }

// ToolKind is the kind of a tool.
type ToolKind uint8

// The kinds of tools.
const (
	Function   ToolKind = iota // its arguments are a JSON object
	CustomTool                 // its input is a string
	SearchTool                 // the provider searches the web by itself
)

// Tool is a tool that the model may use.
type Tool struct {
	Kind        ToolKind
	Name        ToolName
	Description string
	Schema      json.RawMessage // of a function's arguments, an object; nil: none
	Strict      bool
	Grammar     json.RawMessage // of a custom tool's input, as its dialect writes it; nil: any text

	// Of a SearchTool: the domains that it may and must not use, and how often it may search; empty and 0: no limit.
	Allowed, Blocked []string
	MaxUses          int
}

// ChoiceMode says which tools the model may or must use.
type ChoiceMode uint8

// The modes.
const (
	ChooseAuto ChoiceMode = iota
	ChooseAny             // it must use some tool
	ChooseNone
	ChooseOne // it must use the tool that is named
)

// ToolChoice is which tools the model may or must use.
type ToolChoice struct {
	Mode ChoiceMode
	Name ToolName // with ChooseOne
}

// Thinking is whether the model reasons before it responds.
type Thinking uint8

// The values of Thinking.
const (
	ThinkingUnset Thinking = iota // the client does not say
	ThinkingOff
	ThinkingOn       // as much as the model finds useful, or as Level says
	ThinkingBudgeted // at most Budget tokens
)

// Effort is how much the model shall reason.
type Effort struct {
	Thinking Thinking
	Level    string // such as "low" or "xhigh", in the client's words; empty: not said
	Budget   int    // tokens, with ThinkingBudgeted
	Show     bool   // the client wants to see the reasoning
}

// Format is the format of the response's text.
type Format struct {
	Name        string
	Description string
	Schema      json.RawMessage // nil: any JSON object
	Strict      bool
}
