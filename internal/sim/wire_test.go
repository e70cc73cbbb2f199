package sim_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
)

// WIRE-10: every response, plain, streamed or an error, has a content coding that the client accepts and the provider offers.
func TestEncodings(t *testing.T) {
	config := oneAccount
	config.Encodings = []string{"zstd", "br", "gzip"}
	bubble(t, config, func(r *rig) {
		for accept, want := range map[string]string{
			"":                           "",
			"identity":                   "",
			"gzip":                       "gzip",
			"gzip, deflate, br, zstd":    "zstd",
			"gzip, br;q=0.5":             "br",
			"zstd;q=0, BR":               "br",
			"*":                          "zstd",
			"zstd;q=0, br;q=0, gzip;q=0": "",
		} {
			for _, body := range []string{plainBody, streamBody, thinkingBody} {
				resp, err := r.post(r.Context(), "a", sim.MessagesPath, body, "Accept-Encoding", accept)
				if err != nil {
					r.Fatal(err)
				}
				if got := resp.Header.Get("Content-Encoding"); got != want {
					r.Errorf("%q: content-encoding %q, want %q", accept, got, want)
				}
				response, err := sim.ReadResponse(resp)
				if err == nil {
					err = response.Verify([]byte(body))
				}
				if err != nil {
					r.Errorf("%q: %v", accept, err)
				}
				resp.Body.Close()
			}
		}
		r.Inject("a", sim.CredentialForbidden())
		resp, err := r.post(r.Context(), "a", sim.MessagesPath, plainBody, "Accept-Encoding", "br")
		if err != nil {
			r.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := sim.ReadResponse(resp); resp.Header.Get("Content-Encoding") != "br" || err == nil || !strings.Contains(err.Error(), "OAuth") {
			r.Errorf("an encoded error: %v", err)
		}
	})
}

// RTE-3: a fault can compress a response for a client that does not accept it.
func TestEncodedFault(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		for _, coding := range []string{"gzip", "br", "zstd"} {
			r.Inject("a", sim.Encoded(coding).Times(1))
			got := r.do("a", sim.MessagesPath, streamBody, "Accept-Encoding", "identity")
			got.want(r, 200)
			if got.Header.Get("Content-Encoding") != coding || strings.Contains(got.body, "message_start") {
				r.Errorf("%s: %v", coding, got.Header)
			}
		}
	})
}

// WIRE-11: the bytes of a stream do not depend on its chunks, only on the seed and the request.
func TestChunksAndDeterminism(t *testing.T) {
	var want string
	for _, chunk := range []int{0, 1, 7, 1000, 1 << 20} {
		config := oneAccount
		config.Pace.Chunk = chunk
		bubble(t, config, func(r *rig) {
			for range 2 {
				got := r.do("a", sim.MessagesPath, thinkingBody)
				if want == "" {
					want = got.body
				}
				if got.body != want {
					r.Errorf("in chunks of %d: %q, want %q", chunk, got.body, want)
				}
			}
		})
	}
	config := oneAccount
	config.Seed = 1
	bubble(t, config, func(r *rig) {
		if got := r.do("a", sim.MessagesPath, thinkingBody); got.body == want {
			r.Error("another seed gives the same response")
		}
	})
}

var thinkingBody = strings.Replace(streamBody, `{`, `{"thinking":{"type":"adaptive"},`, 1)

// Deltas are sent one by one at the configured pace; a plain response is sent when the last delta would have been.
func TestPace(t *testing.T) {
	config := oneAccount
	config.Output = sim.Range{Min: 40, Max: 40}
	config.Pace = sim.Pace{FirstByte: 2 * time.Second, Delta: time.Second, DeltaTokens: 4}
	bubble(t, config, func(r *rig) {
		start := time.Now()
		resp, err := r.post(r.Context(), "a", sim.MessagesPath, streamBody)
		if err != nil {
			r.Fatal(err)
		}
		defer resp.Body.Close()
		if got := time.Since(start); got != 2*time.Second {
			r.Errorf("the headers came after %v", got)
		}
		var seen []time.Duration
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), "text_delta") {
				seen = append(seen, time.Since(start))
			}
		}
		for i, at := range seen {
			if want := time.Duration(i+3) * time.Second; at != want {
				r.Errorf("delta %d came after %v, want %v", i, at, want)
			}
		}
		if len(seen) < 10 {
			r.Errorf("only %d deltas", len(seen))
		}
		start = time.Now()
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		if got := time.Since(start); got != 12*time.Second {
			r.Errorf("a plain response came after %v", got)
		}
	})
}

// The provider rejects invalid requests in the error format of the API.
func TestInvalidRequests(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		for _, c := range []struct {
			path, body string
			status     int
			part       string
		}{
			{sim.MessagesPath, `{"model":`, 400, "not valid JSON"},
			{sim.MessagesPath, `{"messages":[{}],"max_tokens":1}`, 400, "model: Field required"},
			{sim.MessagesPath, `{"model":"claude-x","messages":[],"max_tokens":1}`, 400, "messages: at least one"},
			{sim.MessagesPath, `{"model":"claude-x","messages":[{}]}`, 400, "max_tokens: Field required"},
			{sim.MessagesPath, bodyFor("gpt-x"), 404, "model: gpt-x"},
			{sim.MessagesPath, bodyFor("claude-sonnet-4-5[1m]"), 404, "not_found_error"},
			{sim.MessagesPath + "/", plainBody, 404, "not_found_error"},
			{"/v1/%6dessages", plainBody, 404, "not_found_error"},
			{"/v1/complete", "", 404, "not_found_error"},
			{sim.MessagesPath, "", 405, "Method Not Allowed"},
			{sim.ModelsPath, plainBody, 405, "Method Not Allowed"},
			{sim.CountTokensPath, `{"model":"claude-x","messages":[{}]}`, 200, `{"input_tokens":1}`},
			{sim.MessagesPath, strings.Repeat(" ", 32<<20) + plainBody, 413, "request_too_large"},
		} {
			r.do("a", c.path, c.body).want(r, c.status, c.part)
		}
	})
}

func TestModels(t *testing.T) {
	config := oneAccount
	config.Models = []string{"claude-one", "other-two"}
	bubble(t, config, func(r *rig) {
		r.do("a", sim.ModelsPath, "").want(r, 200, `"id":"claude-one"`, `"type":"model"`, `"has_more":false`, `"first_id":"claude-one"`, `"last_id":"other-two"`)
		r.do("a", sim.MessagesPath, bodyFor("other-two")).want(r, 200)
	})
}

// max_tokens limits a response, which is still complete.
func TestMaxTokens(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		body := strings.Replace(plainBody, "1000", "1", 1)
		got := r.do("a", sim.MessagesPath, body)
		got.want(r, 200, `"stop_reason":"max_tokens"`, `"output_tokens":1`, "[end ")
	})
}

// The most recent requests are recorded as received, with their outcomes.
func TestRecords(t *testing.T) {
	config := oneAccount
	config.Record, config.RecordBodies = 3, true
	bubble(t, config, func(r *rig) {
		body := strings.Replace(streamBody, `{`, `{"metadata":{"user_id":"{\"account_uuid\":\"u-1\"}"},`, 1)
		r.Inject("a", sim.SlowHeaders(time.Second).Times(1))
		r.do("", sim.MessagesPath, plainBody)
		r.do("a", sim.UsagePath, "")
		r.do("a", sim.MessagesPath+"?beta=true", body, "X-Claude-Code-Session-Id", "s-1", "X-Odd", "kept")
		r.do("a", sim.CountTokensPath, plainBody)
		got := r.Requests()
		if len(got) != 3 || got[0].Seq != 1 || got[2].Path != sim.CountTokensPath {
			r.Fatalf("kept %+v", got)
		}
		m := got[1]
		if m.Method != http.MethodPost || m.Path != "/v1/messages?beta=true" || m.Host != "provider.test" || m.Header.Get("X-Odd") != "kept" ||
			string(m.Body) != body || m.BodyLength != len(body) || m.BodyHash != sha256.Sum256([]byte(body)) || m.Conn != got[0].Conn {
			r.Errorf("received %+v", m)
		}
		if m.Model != "claude-sonnet-4-5" || !m.Stream || m.AccountUUID != "u-1" || m.Session() != "s-1" {
			r.Errorf("read %+v", m)
		}
		if m.Account != "a" || m.Status != 200 || m.Outcome != sim.Complete || m.Fault != "slow headers" {
			r.Errorf("ended %+v", m)
		}
		total, a := r.Counters(""), r.Counters("a")
		if total.Requests != 4 || a.Requests != 3 || total.ByStatus[401] != 1 || a.ByStatus[200] != 3 || a.Tokens.Output == 0 || a.Tokens != total.Tokens {
			r.Errorf("counted %+v and %+v", total, a)
		}
	})
}

// A request that ends after its record was replaced does not change other records.
func TestRecordReplaced(t *testing.T) {
	config := oneAccount
	config.Record = 1
	bubble(t, config, func(r *rig) {
		r.Inject("a", sim.ServerError(500).After(time.Second).Times(1))
		var wg sync.WaitGroup
		wg.Go(func() { r.do("a", sim.MessagesPath, plainBody).want(r, 500) })
		synctest.Wait()
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		wg.Wait()
		if got := r.Requests(); len(got) != 1 || got[0].Seq != 1 || got[0].Status != 200 {
			r.Errorf("kept %+v", got)
		}
	})
}

// Accounts differ from each other, depend on the seed, and must not share a name.
func TestNew(t *testing.T) {
	config := sim.Config{Seed: 7, Accounts: []sim.Account{{Name: "a"}, {Name: "b", UUID: "u", Organization: "o"}}}
	p, again := sim.New(config), sim.New(config)
	if p.UUID("a") != again.UUID("a") || p.Token("a") != again.Token("a") || p.Token("a") == p.Token("b") {
		t.Error("accounts do not depend on the seed alone")
	}
	if p.UUID("b") != "u" || p.Organization("b") != "o" || fmt.Sprint(p.Accounts()) != "[a b]" {
		t.Errorf("%v %v %v", p.UUID("b"), p.Organization("b"), p.Accounts())
	}
	for name, f := range map[string]func(){
		"a shared name":      func() { sim.New(sim.Config{Accounts: []sim.Account{{Name: "a"}, {Name: "a"}}}) },
		"an unknown account": func() { p.Token("c") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		}()
	}
}
