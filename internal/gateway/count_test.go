package gateway_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/responses"
)

// uncounted is an upstream that cannot count tokens.
type uncounted struct{ echo }

func (*uncounted) Dialect() dialect.Outbound { return responses.Dialect{} }

// DIA-10: shunt counts the tokens of requests for an upstream that cannot, and sends nothing there.
func TestCountTokens(t *testing.T) {
	u := new(uncounted)
	url, records := start(t, "", u)
	count := func(body string) (int, string) {
		response, text := raw(t, url, "POST /v1/messages/count_tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: "+
			strconv.Itoa(len(body))+"\r\nConnection: close\r\n\r\n"+body)
		return response.StatusCode, text
	}
	status, text := count(`{"model":"m","messages":[{"role":"user","content":"hello world"}]}`)
	if status != http.StatusOK || !strings.HasPrefix(text, `{"input_tokens":`) || strings.HasPrefix(text, `{"input_tokens":0`) {
		t.Errorf("%d %s", status, text)
	}
	if r := <-records; r.Status != http.StatusOK || r.Provider != "anthropic" || r.BytesOut == 0 {
		t.Errorf("%+v", r)
	}
	if status, text := count(`{"model":"m","messages":[{"role":"nobody","content":"x"}]}`); status != http.StatusBadRequest || !strings.Contains(text, "messages[0]") {
		t.Errorf("%d %s", status, text)
	}
	if u.calls != 0 {
		t.Errorf("%d requests were sent", u.calls)
	}
}
