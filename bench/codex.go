package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// codexRequest has its members in the order in which Codex writes them.
type codexRequest struct {
	Model     string      `json:"model"`
	Stream    bool        `json:"stream"`
	Input     []codexItem `json:"input"`
	Tools     []codexTool `json:"tools"`
	Choice    string      `json:"tool_choice"`
	Parallel  bool        `json:"parallel_tool_calls"`
	Store     bool        `json:"store"`
	Include   []string    `json:"include"`
	CacheKey  string      `json:"prompt_cache_key"`
	Reasoning struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
}

type codexItem struct {
	Type      string      `json:"type"`
	ID        string      `json:"id,omitempty"`
	Role      string      `json:"role,omitempty"`
	Content   []codexText `json:"content,omitempty"`
	CallID    string      `json:"call_id,omitempty"`
	Name      string      `json:"name,omitempty"`
	Arguments string      `json:"arguments,omitempty"`
	Output    string      `json:"output,omitempty"`
	Encrypted string      `json:"encrypted_content,omitempty"`
}

type codexText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type codexTool struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  any    `json:"parameters"`
}

// codexBody returns a body of about size bytes in the shape of a turn of Codex. The same size gives the same bytes.
func codexBody(size int) []byte {
	w := newWriter()
	r := codexRequest{Model: "gpt-5.5", Stream: true, Choice: "auto", Parallel: true, Include: []string{"reasoning.encrypted_content"}, CacheKey: someSession}
	r.Reasoning.Effort, r.Reasoning.Summary = "medium", "auto"
	r.Input = []codexItem{
		{Type: "message", Role: "developer", Content: []codexText{{"input_text", w.prose(size / 6)}}},
		{Type: "message", Role: "user", Content: []codexText{{"input_text", w.prose(200)}}},
	}
	for _, t := range w.tools(size / 4) {
		r.Tools = append(r.Tools, codexTool{"function", t.Name, t.Description, t.InputSchema})
	}
	for n := 0; len(encode(r)) < size; n++ {
		id := fmt.Sprintf("call_%024d", n)
		r.Input = append(
			r.Input,
			codexItem{Type: "reasoning", ID: fmt.Sprintf("rs_%024d", n), Encrypted: w.base64(600)},
			codexItem{Type: "function_call", CallID: id, Name: "shell", Arguments: string(encode(map[string]string{"command": w.code(120)}))},
			codexItem{Type: "function_call_output", CallID: id, Output: w.code(min(4_000, size/10))},
		)
	}
	return encode(r)
}

// compressed returns a body as Codex sends it with a ChatGPT login.
func compressed(body []byte) []byte {
	e, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // without options, it does not fail
	}
	return e.EncodeAll(body, nil)
}

// codexHead returns the request line and headers of Codex.
func (to endpoint) codexHead(session string, length int, zstd bool) string {
	head := fmt.Sprintf("POST %s/v1/responses HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"+
		"authorization: Bearer client\r\naccept: text/event-stream\r\nuser-agent: codex_exec/0.171.0\r\noriginator: codex_exec\r\n"+
		"session-id: %s\r\nthread-id: %[4]s\r\nx-codex-turn-metadata: {}\r\n", to.prefix, to.addr, length, session)
	if zstd {
		head += "content-encoding: zstd\r\n"
	}
	return head + "\r\n"
}

// The stream of a Responses upstream.
const (
	responsesHead = `data: {"type":"response.created","response":{"id":"resp_01","model":"gpt-5.5","status":"in_progress"}}` + "\n\n" +
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_01","role":"assistant","content":[]}}` + "\n\n"
	responsesText = `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_01","delta":"some words of a result, "}` + "\n\n"
	responsesTail = `data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_01","role":"assistant","content":[{"type":"output_text","text":"some words"}]}}` + "\n\n" +
		`data: {"type":"response.completed","response":{"id":"resp_01","model":"gpt-5.5","status":"completed","usage":{"input_tokens":28012,"input_tokens_details":{"cached_tokens":28000},"output_tokens":40}}}` + "\n\n"
)

var responsesStream = responsesHead + strings.Repeat(responsesText, 8) + responsesTail

// codexToken returns the access token of an account, which is a JWT.
func codexToken(i int) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	claims := fmt.Sprintf(`{"exp":4102444800,"https://api.openai.com/auth":{"chatgpt_account_id":"bench-%02d","chatgpt_user_id":"user-%02[1]d"}}`, i)
	return part(`{"alg":"none"}`) + "." + part(claims) + ".x"
}

// translatedModel is what shunt sends to the Responses upstream.
const translatedModel = "claude-haiku-4-5"

// translationMeasurement compares a Messages request that shunt translates to Responses, and its response, with the same request
// that it passes on (DIA-2).
func translationMeasurement(name string, size int, inFlight int) measurement {
	return measurement{name, func(ctx context.Context, b *bench, name string) error {
		if b.isPeer() {
			return nil
		}
		body := requestBody(size, true)
		translated := strings.Replace(string(body), `"model":"claude-sonnet-4-5"`, `"model":"`+translatedModel+`"`, 1)
		passed := kind{body: body, response: response{stream: true}}
		other := kind{body: []byte(translated), response: response{stream: true}, translated: true}
		cost, err := b.measureKinds(ctx, name, [2]kind{passed, other}, inFlight)
		if err != nil {
			return err
		}
		b.report.add(compare(name+": CPU per request (left: not translated)", microseconds, cost, goal{}))
		return nil
	}}
}

// measureKinds returns the seconds of processor time of shunt per request, by kind and round.
func (b *bench) measureKinds(ctx context.Context, name string, kinds [2]kind, inFlight int) (cost [2][]float64, err error) {
	p, err := b.programs[1].start(ctx)
	if err != nil {
		return cost, err
	}
	defer p.stop()
	b.up.response.Store(&kinds[0].response)
	var loads [2]*load
	for i, k := range kinds {
		if loads[i], err = openLoad(ctx, p.endpoint, k, inFlight); err != nil {
			return cost, p.blame(err)
		}
		defer loads[i].close()
	}
	err = alternate(b.rounds, func(round, i int) error {
		used, n, err := b.sample(ctx, p, loads[i])
		if err != nil {
			return p.blame(err)
		}
		cost[i] = append(cost[i], used/float64(n))
		b.progress("%s, round %d, %s: %.1f µs of CPU per request", name, round+1, [...]string{"not translated", "translated"}[i], used/float64(n)*1e6)
		return nil
	})
	return cost, err
}
