package sim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"shunt/internal/dialect/messages"
)

// streamReader reads the events of one response. It is stricter than a client has to be, because it looks for a gateway's
// mistakes.
type streamReader struct {
	response Response
	header   http.Header

	started, stopped bool
	delta            bool   // message_delta has arrived
	block            string // type of the open content block; empty if none is open
	blocks           int    // opened so far
}

// message is the body of a response.
type message struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      []block `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        Tokens  `json:"usage"`
}

// block is a content block, or the empty block that begins it in a stream.
type block struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
}

// streamEvent holds the data of any event.
type streamEvent struct {
	Type    string  `json:"type"`
	Index   int     `json:"index"`
	Message message `json:"message"`
	Block   block   `json:"content_block"`
	Delta   struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage Tokens `json:"usage"`
}

func (r *streamReader) read(body io.Reader) error {
	lines := bufio.NewReader(body)
	name, data := "", ""
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" && name == "" && data == "" && r.stopped {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read stream: %w", asTruncated(err))
		}
		line = strings.TrimSuffix(line, "\n")
		switch field, value, _ := strings.Cut(line, ": "); {
		case line == "":
			if name == "" && data == "" {
				continue
			}
			if err := r.event(name, []byte(data)); err != nil {
				return err
			}
			name, data = "", ""
		case field == "event" && name == "" && data == "":
			name = value
		case field == "data" && data == "":
			data = value
		case strings.HasPrefix(line, ":"):
		default:
			return fmt.Errorf("line of an event is malformed or out of place (%d bytes)", len(line))
		}
	}
}

func (r *streamReader) event(name string, data []byte) error {
	if r.stopped {
		return fmt.Errorf("%s after message_stop", name)
	}
	var e streamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("data of %s is not JSON: %w", name, err)
	}
	if e.Type != name {
		return fmt.Errorf("event %s has the data of %q", name, e.Type)
	}
	switch name {
	case "ping":
		r.response.Pings++
		return nil
	case "error":
		kind, text, _ := messages.ParseError(data)
		return &APIError{http.StatusOK, kind, text, r.header}
	case "message_start":
		if r.started {
			return errors.New("second message_start")
		}
		r.started = true
		r.response.ID, r.response.Model, r.response.Usage = e.Message.ID, e.Message.Model, e.Message.Usage
		return nil
	}
	if !r.started {
		return fmt.Errorf("%s before message_start", name)
	}
	return r.inside(name, e)
}

// inside handles the events after message_start.
func (r *streamReader) inside(name string, e streamEvent) error {
	switch {
	case name == "content_block_start" && r.block == "" && !r.delta && e.Index == r.blocks:
		r.block = e.Block.Type
		r.blocks++
	case name == "content_block_delta" && r.block != "" && e.Index == r.blocks-1:
		switch kind := e.Delta.Type; {
		case kind == "text_delta" && r.block == "text":
			r.response.Text += e.Delta.Text
		case kind == "thinking_delta" && r.block == "thinking":
			r.response.Thinking += e.Delta.Thinking
		case kind == "signature_delta" && r.block == "thinking":
			r.response.Signature += e.Delta.Signature
		default:
			return fmt.Errorf("%q in a block of type %q", kind, r.block)
		}
	case name == "content_block_stop" && r.block != "" && e.Index == r.blocks-1:
		r.block = ""
	case name == "message_delta" && r.block == "" && !r.delta:
		r.delta = true
		r.response.StopReason, r.response.Usage = e.Delta.StopReason, e.Usage
	case name == "message_stop" && r.delta:
		r.stopped = true
	default:
		return fmt.Errorf("%s (index %d) is unknown or out of place", name, e.Index)
	}
	return nil
}
