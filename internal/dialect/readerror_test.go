package dialect_test

import (
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/chat"
	"shunt/internal/dialect/messages"
	"shunt/internal/dialect/responses"
)

// DIA-7: upstreams say in many words that a conversation is too long, and in similar words that something else is.
func TestIsOverflow(t *testing.T) {
	for message, tokens := range map[string][2]string{
		"prompt is too long: 212345 tokens > 200000 maximum":                                                             {"212345", "200000"},
		"Your input exceeds the context window of this model. Please adjust your input and try again.":                   {},
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 130,001 tokens.":       {"130001", "128000"},
		"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length":             {},
		"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).":                        {"1100000", "1048576"},
		"Prompt contains 41000 tokens and 0 draft tokens, too large for model with 32768 maximum context length":         {"41000", "32768"},
		"the request exceeds the available context size. try increasing the context size or enable context shift":        {},
		"Please reduce the length of the messages or completion.":                                                        {},
		"Input is too long for requested model.":                                                                         {},
		"The conversation is too long":                                                                                   {},
		"Requested token count exceeds the model's maximum context length of 262144 tokens. You requested 300000 tokens": {"300000", "262144"},
	} {
		if !dialect.IsOverflow("", message) {
			t.Errorf("not recognized: %s", message)
		}
		length, maximum, ok := dialect.OverflowTokens(message)
		if tokens[0] != "" && (!ok || length != tokens[0] || maximum != tokens[1]) {
			t.Errorf("%s: %q > %q", message, length, maximum)
		}
	}
	for _, message := range []string{
		"", "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
		"Rate limit reached: too many requests", "Invalid 'metadata.x': string too long. Expected a string with maximum length 512", "messages: at least one message is required",
		"This request would exceed your organization's rate limit of 40,000 input tokens per minute", "tools.0.name: the name is too long",
	} {
		if dialect.IsOverflow("", message) {
			t.Errorf("recognized: %s", message)
		}
	}
	if !dialect.IsOverflow("context_length_exceeded", "no") {
		t.Error("the code is not recognized")
	}
}

// DIA-6: an error keeps its upstream's words, wherever they are.
func TestReadError(t *testing.T) {
	long := strings.Repeat("ü", 600)
	for _, c := range []struct {
		out     dialect.Outbound
		status  int
		body    string
		kind    dialect.ErrorKind
		message string
	}{
		{responses.Dialect{}, 400, `{"error":{"message":"bad tool","code":"invalid_value"}}`, dialect.InvalidRequest, "bad tool"},
		{responses.Dialect{}, 404, `{"detail":"no such model"}`, dialect.NotFound, "no such model"},
		{responses.Dialect{}, 422, `{"detail":[{"msg":"a is missing","loc":["a"]},{"msg":"b is wrong"}]}`, dialect.InvalidRequest, "a is missing; b is wrong"},
		{responses.Dialect{}, 500, `{"response":{"error":{"message":"inner"}}}`, dialect.ServerError, "inner"},
		{responses.Dialect{}, 429, `{"error":{"type":"usage_limit_reached","message":"used up"}}`, dialect.QuotaExhausted, "used up"},
		{chat.Dialect{}, 402, `{"error":"pay first"}`, dialect.Permission, "pay first"},
		{chat.Dialect{}, 403, `{"message":"not you"}`, dialect.Permission, "not you"},
		{chat.Dialect{}, 400, `[{"error":{"message":"in a list"}}]`, dialect.InvalidRequest, "in a list"},
		{chat.Dialect{}, 502, "<html><head><TITLE>\n Bad &amp; gateway </TITLE></head>", dialect.ServerError, "Bad & gateway"},
		{chat.Dialect{}, 503, "<html>no title", dialect.Overloaded, "Service Unavailable"},
		{chat.Dialect{}, 500, " plain text \n", dialect.ServerError, "plain text"},
		{chat.Dialect{}, 500, long, dialect.ServerError, long[:2*500]},
		{chat.Dialect{}, 401, "", dialect.Authentication, "Unauthorized"},
		{chat.Dialect{}, 500, "\xff\xfe", dialect.ServerError, "Internal Server Error"},
		{messages.Dialect{}, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, dialect.Overloaded, "Overloaded"},
		{messages.Dialect{}, 413, `{"type":"error","error":{"type":"request_too_large","message":"too big"}}`, dialect.TooLarge, "too big"},
		{messages.Dialect{}, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3000 tokens > 2000 maximum"}}`, dialect.ContextOverflow, "prompt is too long: 3000 tokens > 2000 maximum"},
		{chat.Dialect{}, 413, `{"error":{"message":"This model's maximum context length is 8192 tokens."}}`, dialect.ContextOverflow, "This model's maximum context length is 8192 tokens."},
	} {
		e := dialect.ReadError(c.out, c.status, []byte(c.body))
		status := c.status
		if c.kind == dialect.ContextOverflow {
			status = 400
		}
		if e.Kind != c.kind || e.Message != c.message || e.Status != status {
			t.Errorf("%d %s: %+v", c.status, c.body, e)
		}
	}
}

// DIA-7: each client gets an overflow in the words that it knows.
func TestOverflowInTheClientsWords(t *testing.T) {
	e := &dialect.Error{Kind: dialect.ContextOverflow, Status: 400, Message: "This model's maximum context length is 128000 tokens, and you sent 130001."}
	for d, want := range map[dialect.Inbound]string{
		messages.Dialect{}:  `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 130001 tokens > 128000 maximum"}}`,
		responses.Dialect{}: `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"` + e.Message + `"}}`,
		chat.Dialect{}:      `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"` + e.Message + `"}}`,
	} {
		if got := string(d.AppendError(nil, e, "")); got != want {
			t.Errorf("%s: %s", d.Name(), got)
		}
	}
	vague := &dialect.Error{Kind: dialect.ContextOverflow, Message: "too long"}
	if got := string(messages.Dialect{}.AppendError(nil, vague, "")); !strings.Contains(got, `"prompt is too long: too long"`) {
		t.Errorf("%s", got)
	}
}

// DIA-6: a body is any bytes.
func FuzzReadError(f *testing.F) {
	for _, body := range []string{`{"error":{"message":"a"}}`, `{"detail":[{"msg":"a"}]}`, `[{"error":{}}]`, "<title>a</title>", "text", `{"error":"`} {
		f.Add(400, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, out := range []dialect.Outbound{messages.Dialect{}, responses.Dialect{}, chat.Dialect{}} {
			if e := dialect.ReadError(out, status, body); e.Kind == dialect.NoError {
				t.Errorf("%+v", e)
			}
		}
	})
}
