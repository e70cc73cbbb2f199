package gemini

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"shunt/internal/dialect"
)

const (
	longestName = 64 // of a tool, in bytes
	mostStops   = 5  // sequences at which a response ends

	// unsigned is the documented signature of a call that another model made.
	unsigned = "skip_thought_signature_validator"
)

type request struct {
	System     *content   `json:"systemInstruction,omitempty"`
	Contents   []content  `json:"contents"`
	Tools      []toolSet  `json:"tools,omitempty"`
	ToolConfig *choice    `json:"toolConfig,omitempty"`
	Config     generation `json:"generationConfig"`
}

type toolSet struct {
	Declarations []declaration `json:"functionDeclarations,omitempty"`
	Search       *struct{}     `json:"googleSearch,omitempty"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type choice struct {
	Calling struct {
		Mode  string   `json:"mode"`
		Names []string `json:"allowedFunctionNames,omitempty"`
	} `json:"functionCallingConfig"`
}

type generation struct {
	MaxTokens   int             `json:"maxOutputTokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"topP,omitempty"`
	TopK        *int            `json:"topK,omitempty"`
	Stop        []string        `json:"stopSequences,omitempty"`
	MediaType   string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseSchema,omitempty"`
	Thinking    *thinking       `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Include bool `json:"includeThoughts,omitempty"`
	Budget  *int `json:"thinkingBudget,omitempty"`
}

// encoder writes one request.
type encoder struct {
	turn    *dialect.Turn
	to      *dialect.Target
	names   *dialect.ToolNames
	called  map[string]string // the names of calls, by their IDs
	encoded dialect.Encoded
	err     error
}

// Encode implements [dialect.Outbound].
func (Dialect) Encode(t *dialect.Turn, to *dialect.Target) (dialect.Encoded, error) {
	e := &encoder{turn: t, to: to, names: dialect.NameTools(t, longestName), called: map[string]string{}}
	r := request{Config: e.config()}
	if texts := e.instructions(); len(texts) > 0 {
		r.System = &content{Parts: texts}
	}
	for i := range t.Messages {
		r.Contents = e.appendMessage(r.Contents, &t.Messages[i])
	}
	r.Tools = e.tools()
	if len(r.Tools) > 0 && len(r.Tools[0].Declarations) > 0 {
		r.ToolConfig = e.choice()
	}
	if e.err != nil {
		return dialect.Encoded{}, e.err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return dialect.Encoded{}, &dialect.RequestError{Message: "the request contains a schema that is not JSON"}
	}
	method := ":generateContent"
	if t.Stream {
		method = ":streamGenerateContent?alt=sse"
	}
	e.encoded.Path, e.encoded.Body, e.encoded.Stream = modelsPath+"/"+url.PathEscape(to.Model)+method, body, t.Stream
	e.encoded.Tools = e.names.Renamed()
	return e.encoded, nil
}

func (e *encoder) reject(member, why string) {
	if e.err == nil {
		e.err = &dialect.RequestError{Message: member + ": " + why}
	}
}

func (e *encoder) instructions() (texts []part) {
	for _, text := range e.turn.Instructions {
		if text.Text != "" {
			texts = append(texts, part{Text: text.Text})
		}
	}
	return texts
}

// appendMessage appends a message, to the last one if that has the same role: roles alternate.
func (e *encoder) appendMessage(all []content, m *dialect.Message) []content {
	role := "user"
	if m.Role == dialect.Assistant {
		role = "model"
	}
	parts := e.parts(m.Parts)
	if len(parts) == 0 {
		return all
	}
	if n := len(all); n > 0 && all[n-1].Role == role {
		all[n-1].Parts = append(all[n-1].Parts, parts...)
		return all
	}
	return append(all, content{role, parts})
}

func (e *encoder) parts(list []dialect.Part) (parts []part) {
	signature, signed := "", false // of the next call; only the first of a message has one
	for _, p := range list {
		switch p := p.(type) {
		case dialect.Text:
			parts = append(parts, part{Text: p.Text})
		case *dialect.Image:
			parts = append(parts, e.media(p.MediaType, p.Data, p.URL))
		case *dialect.File:
			parts = append(parts, e.file(p))
		case *dialect.Reasoning:
			if e.encoded.Keep(p, e.to.Origin) {
				signature = p.Opaque
			}
		case *dialect.ToolCall:
			call := part{Call: &function{Name: e.names.Of(p.Name), Args: e.arguments(p)}, Signature: signature}
			if !signed {
				call.Signature = cmp.Or(signature, unsigned)
			}
			signature, signed = "", true
			e.called[p.ID] = call.Call.Name
			parts = append(parts, call)
		case *dialect.ToolResult:
			parts = append(parts, e.result(p)...)
		}
	}
	return parts
}

func (e *encoder) arguments(c *dialect.ToolCall) json.RawMessage {
	if !c.Custom {
		return dialect.AppendArguments(nil, c.Arguments)
	}
	text, err := json.Marshal(map[string]string{"input": c.Arguments})
	if err != nil {
		panic(err) // a string
	}
	return text
}

// result returns a result of a call, which is matched by the name of its function, and what it has besides text.
func (e *encoder) result(r *dialect.ToolResult) (parts []part) {
	var texts []string
	var others []part
	for _, p := range r.Parts {
		if text, ok := p.(dialect.Text); ok {
			texts = append(texts, text.Text)
		} else {
			others = append(others, e.parts([]dialect.Part{p})...)
		}
	}
	name := "output"
	if r.Failed {
		name = "error"
	}
	return append([]part{{Response: &response{e.called[r.CallID], map[string]string{name: strings.Join(texts, "\n")}}}}, others...)
}

func (e *encoder) media(mediaType, data, address string) part {
	if address != "" {
		return part{File: &fileData{mediaType, address}}
	}
	return part{Inline: &blob{mediaType, data}}
}

func (e *encoder) file(f *dialect.File) part {
	switch {
	case f.Text != "":
		return part{Text: f.Text}
	case f.Data == "" && f.URL == "":
		e.reject(f.Member, "a document without data cannot be sent to a gemini upstream")
	}
	return e.media(cmp.Or(f.MediaType, "application/pdf"), f.Data, f.URL)
}

func (e *encoder) tools() (sets []toolSet) {
	var declarations []declaration
	searches := false
	for i := range e.turn.Tools {
		tool := &e.turn.Tools[i]
		if tool.Kind == dialect.SearchTool {
			searches = searches || e.to.Accepts.WebSearch
			continue
		}
		d := declaration{Name: e.names.Of(tool.Name), Description: tool.Description}
		if tool.Kind == dialect.CustomTool {
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`)
		} else if schema := plainSchema(tool.Schema); !isEmptyObject(schema) {
			d.Parameters = schema
		}
		declarations = append(declarations, d)
	}
	if len(declarations) > 0 {
		return []toolSet{{Declarations: declarations}} // the API does not search besides
	}
	if searches {
		return []toolSet{{Search: &struct{}{}}}
	}
	return nil
}

func (e *encoder) choice() *choice {
	var c choice
	switch e.turn.Choice.Mode {
	case dialect.ChooseAuto:
		return nil
	case dialect.ChooseAny:
		c.Calling.Mode = "ANY"
	case dialect.ChooseNone:
		c.Calling.Mode = "NONE"
	case dialect.ChooseOne:
		c.Calling.Mode, c.Calling.Names = "ANY", []string{e.names.Of(e.turn.Choice.Name)}
	}
	return &c
}

func (e *encoder) config() generation {
	t := e.turn
	g := generation{Temperature: t.Temperature, TopP: t.TopP, TopK: t.TopK, Stop: slices.Clone(t.Stop[:min(len(t.Stop), mostStops)])}
	if t.MaxTokens > 0 {
		g.MaxTokens = min(t.MaxTokens, cmp.Or(e.to.Accepts.MaxOutputTokens, dialect.DefaultMaxOutputTokens))
	}
	if t.Format != nil {
		g.MediaType = "application/json"
		if len(t.Format.Schema) > 0 {
			g.Schema = plainSchema(t.Format.Schema)
		}
	}
	switch {
	case t.Effort.Thinking == dialect.ThinkingBudgeted:
		g.Thinking = &thinking{Include: t.Effort.Show, Budget: &t.Effort.Budget}
	case t.Effort.Thinking == dialect.ThinkingOn:
		g.Thinking = &thinking{Include: t.Effort.Show, Budget: budgetOf(t.Effort.LevelFor(&e.to.Accepts))}
	}
	return g
}

// budgetOf returns the tokens that a level of effort stands for.
func budgetOf(level string) *int {
	budget, ok := map[string]int{"minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}[level]
	if !ok {
		return nil
	}
	return &budget
}
