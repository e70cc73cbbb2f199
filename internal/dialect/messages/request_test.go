package messages_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

const uuid = "11111111-2222-3333-4444-555555555555"

// RTE-2: the top-level model string and stream are found whatever surrounds them.
func TestScanRouting(t *testing.T) {
	longest := strings.Repeat("m", 256)
	for _, tt := range []struct {
		name, body, model, literal string
		stream                     bool
	}{
		{"plain", `{"model":"m","stream":true}`, "m", `"m"`, true},
		{"white space", " \t\r\n{ \"model\" :\n\"m\"\t, \"stream\" : true }\r\n ", "m", `"m"`, true},
		{"escaped key", `{"mod\u0065l":"m"}`, "m", `"m"`, false},
		{"escaped value", `{"model":"a\u002db\/\"\ud83d\ude00\ud83d"}`, "a-b/\"😀\ufffd", `"a\u002db\/\"\ud83d\ude00\ud83d"`, false},
		{"every escape", `{"model":"\"\\\/\b\f\n\r\t\u00C9"}`, "\"\\/\b\f\n\r\t\u00c9", `"\"\\\/\b\f\n\r\t\u00C9"`, false},
		{"keys that only begin alike", `{"mod\u0065":1,"\u006dodels":1,"model\x":1,"model":"m"}`, "m", `"m"`, false},
		{"ill-formed UTF-8 in the value", "{\"model\":\"a\xff\"}", "a\ufffd", "\"a\xff\"", false},
		{"nested look-alikes", `{"messages":[{"model":"no","stream":true}],"x":{"model":"no"},"model":"yes"}`, "yes", `"yes"`, false},
		{"look-alikes in strings", `{"a":"\"model\":\"no\",{[\\\\","model":"yes"}`, "yes", `"yes"`, false},
		{"keys are case-sensitive", `{"Model":"no","STREAM":true,"model":"yes"}`, "yes", `"yes"`, false},
		{"the last stream wins", `{"stream":true,"model":"m","stream":false}`, "m", `"m"`, false},
		{"stream must be the literal true", `{"stream":"true","model":"m"}`, "m", `"m"`, false},
		{"scalars", `{"a":1,"b":-2.5e3,"c":null,"d":false,"e":"","f":[],"g":{},"model":"m"}`, "m", `"m"`, false},
		{"deeper faults are the upstream's", `{"a":[1,,:"x"{]],"b":nul,"model":"m"}`, "m", `"m"`, false},
		{"the longest model", `{"model":"` + longest + `"}`, longest, `"` + longest + `"`, false},
		{"the longest model in escapes", `{"model":"` + strings.Repeat(`\u006d`, 256) + `"}`, longest, `"` + strings.Repeat(`\u006d`, 256) + `"`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := api.Scan([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			literal := tt.body[req.ModelSpan.Start:req.ModelSpan.End]
			if req.Model != tt.model || literal != tt.literal || req.Stream != tt.stream {
				t.Errorf("model %q as %s, stream %v; want %q as %s, %v", req.Model, literal, req.Stream, tt.model, tt.literal, tt.stream)
			}
			if req.AccountUUID != (wire.Span{}) {
				t.Errorf("AccountUUID = %v without any metadata", req.AccountUUID)
			}
		})
	}
}

// RTE-2: what cannot be routed is refused with a message that says what is wrong and repeats nothing of the body.
func TestScanRefuses(t *testing.T) {
	const (
		object    = "must be a JSON object"
		cut       = "ends inside"
		malformed = "not well-formed JSON"
		trailing  = "continues after"
		missing   = "required"
		twice     = "twice"
		kind      = "must be a string"
		empty     = "must not be empty"
		literal   = "not a well-formed JSON string"
		long      = "longer than 256 bytes"
	)
	for body, want := range map[string]string{
		``: object, ` `: object, `null`: object, `[{"model":"hush"}]`: object, `"model"`: object, "\ufeff{}": object,
		`{`: cut, `{"hush`: cut, `{"hush"`: cut, `{"hush":`: cut, `{"hush":1`: cut, `{"hush":"`: cut, `{"hush":"\"}`: cut,
		`{"model":"hush"`: cut, `{"model":"hush",`: cut, `{"model":"hush","a":[{}`: cut, `{"model":"hush","a":{"b":"]}`: cut,
		`{"model":"hush",}`: malformed, `{,"model":"hush"}`: malformed, `{"model" "hush"}`: malformed, `{"model":"hush" "a":1}`: malformed,
		`{"model":"hush","a":}`: malformed, `{"model":"hush","a":,"b":1}`: malformed, `{model:"hush"}`: malformed, `{"a":1 2,"model":"hush"}`: malformed,
		`{"a":x"y","model":"hush"}`: malformed,
		`{"model":"hush"}}`:         trailing, `{"model":"hush"} {}`: trailing, "{\"model\":\"hush\"}\x00": trailing, `{"model":"hush"},`: trailing,
		`{}`: missing, `{"models":"hush","a":{"model":"hush"}}`: missing,
		`{"model":"hush","model":"hush"}`: twice, `{"model":"hush","\u006dodel":"b"}`: twice, `{"model":"hush","model":1}`: twice,
		`{"model":1}`: kind, `{"model":null}`: kind, `{"model":["hush"]}`: kind, `{"model":{"a":"hush"}}`: kind,
		`{"model":""}`: empty,
		`{"model":"` + strings.Repeat("hush", 64) + `!"}`: long, `{"model":"` + strings.Repeat(`\u0068`, 257) + `"}`: long,
		`{"model":"` + strings.Repeat("m", 255) + `\ud83d\ude00"}`: long, "{\"model\":\"" + strings.Repeat("\xff", 86) + "\"}": long,
		`{"model":"hush\x"}`: literal, `{"model":"\u12g4"}`: literal, `{"model":"\u12"}`: literal, "{\"model\":\"hush\n\"}": literal,
	} {
		_, err := api.Scan([]byte(body))
		var invalid *dialect.RequestError
		if !errors.As(err, &invalid) || !strings.Contains(invalid.Message, want) {
			t.Errorf("%q: err = %v, want one with %q", body, err, want)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: the message quotes the body: %s", body, err)
		}
	}
}

// WIRE-6: the value of account_uuid inside metadata.user_id, whatever its type and however it is escaped.
func TestScanAccountUUID(t *testing.T) {
	for _, tt := range []struct{ name, metadata, want string }{
		{"as Claude Code sends it", `{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"u\",\"session_id\":\"s\"}"}`, `\"u\"`},
		{"empty", `{"user_id":"{\"account_uuid\":\"\"}"}`, `\"\"`},
		{"null", `{"user_id":"{\"account_uuid\":null}"}`, `null`},
		{"number", `{"user_id":"{\"account_uuid\": 12 }"}`, `12`},
		{"object", `{"user_id":"{\"account_uuid\":{\"a\":[\"}\"]}}"}`, `{\"a\":[\"}\"]}`},
		{"numeric escapes", `{"user_id":"\u007b\u0022account\u005fuuid\u0022:\u0022\ud83d\ude00\u0022}"}`, `\u0022\ud83d\ude00\u0022`},
		{"an escape inside the escape", `{"user_id":"{\"account_\\u0075uid\":\"\\\"x\"}"}`, `\"\\\"x\"`},
		{"text before it that is wider decoded than raw", "{\"user_id\":\"{\\\"a\\\":\\\"é\xff\\\\n\\\",\\\"account_uuid\\\":\\\"u\\\"}\"}", `\"u\"`},
		{"longer than the scratch space", `{"user_id":"{\"a\":\"` + strings.Repeat("x", 3000) + `\",\"account_uuid\":\"u\"}"}`, `\"u\"`},
		{"the last user_id", `{"user_id":"{\"account_uuid\":\"a\"}","user_id":"{\"account_uuid\":\"b\"}"}`, `\"b\"`},
		{"the last account_uuid", `{"user_id":"{\"account_uuid\":\"a\",\"account_uuid\":\"b\"}"}`, `\"b\"`},
		{"escaped key", `{"user\u005fid":"{\"account_uuid\":\"u\"}"}`, `\"u\"`},

		{"the last user_id is no string", `{"user_id":"{\"account_uuid\":\"a\"}","user_id":1}`, ``},
		{"older form", `{"user_id":"user_1_account_` + uuid + `_session_2"}`, ``},
		{"no account_uuid", `{"user_id":"{\"device_id\":\"account_uuid\"}"}`, ``},
		{"nested account_uuid", `{"user_id":"{\"a\":{\"account_uuid\":\"u\"}}"}`, ``},
		{"malformed object", `{"user_id":"{\"account_uuid\":\"u\",}"}`, ``},
		{"cut object", `{"user_id":"{\"account_uuid\":\"u\""}`, ``},
		{"array", `{"user_id":"[\"account_uuid\"]"}`, ``},
		{"object that is no string", `{"user_id":{"account_uuid":"u"}}`, ``},
		{"bad escape", `{"user_id":"{\"account_uuid\":\"u\",\"\x\":1}"}`, ``},
		{"empty user_id", `{"user_id":""}`, ``},
		{"metadata is no object", `["user_id"]`, ``},
		{"malformed metadata", `{"user_id":"{\"account_uuid\":\"u\"}" 1}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"model":"m","metadata":` + tt.metadata + `,"x":1}`
			req, err := api.Scan([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if got := body[req.AccountUUID.Start:req.AccountUUID.End]; got != tt.want {
				t.Errorf("covers %s, want %s", got, tt.want)
			}
		})
	}
}

// WIRE-6: of two metadata objects the last is the one a JSON reader sees.
func TestScanLastMetadata(t *testing.T) {
	const body = `{"metadata":{"user_id":"{\"account_uuid\":\"a\"}"},"model":"m","metadata":{"x":1}}`
	req, err := api.Scan([]byte(body))
	if err != nil || req.AccountUUID != (wire.Span{}) {
		t.Errorf("AccountUUID = %v, err = %v; want none", req.AccountUUID, err)
	}
}

// RTE-2: nesting of any depth costs neither stack nor memory.
func TestScanDeep(t *testing.T) {
	const depth = 5_000_000
	body := []byte(`{"a":` + strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth) + `,"model":"m"}`)
	if req, err := api.Scan(body); err != nil || req.Model != "m" {
		t.Errorf("Scan = %+v, %v", req, err)
	}
	if _, err := api.Scan(body[:depth]); err == nil {
		t.Error("a body cut in the depth was accepted")
	}
}

// RTE-2: one small string is all that a scan allocates, whatever the size of the body.
func TestScanAllocations(t *testing.T) {
	body := codingTurn(115_000)
	least := 2.0
	for range 5 { // what else runs in the process may allocate meanwhile
		least = min(least, testing.AllocsPerRun(20, func() {
			if _, err := api.Scan(body); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if least > 1 {
		t.Errorf("%v allocations", least)
	}
}

// RTE-2: a model that is too long is found without a copy of it.
func TestScanOfALongModel(t *testing.T) {
	for _, letter := range []string{"m", `\u006d`} {
		body := []byte(`{"model":"` + strings.Repeat(letter, 1<<20) + `"}`)
		if got := testing.AllocsPerRun(5, func() {
			if _, err := api.Scan(body); err == nil {
				t.Fatal("it was accepted")
			}
		}); got > 0 {
			t.Errorf("%v allocations", got)
		}
	}
}

// SES-1: the session that metadata.user_id names, in either of its forms.
func TestScanSession(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range []struct{ name, userID, want string }{
		{"as Claude Code sends it", `"{\"device_id\":\"d\",\"account_uuid\":\"u\",\"session_id\":\"s-1\"}"`, "s-1"},
		{"without an account", `"{\"session_id\":\"s-1\"}"`, "s-1"},
		{"escapes in escapes", `"\u007b\u0022session_\\u0069d\u0022:\"\\u0073-\u0031\"}"`, "s-1"},
		{"the last of two", `"{\"session_id\":\"a\",\"session_id\":\"b\"}"`, "b"},
		{"older form", `"user_1_account_` + uuid + `_session_s-1"`, "s-1"},
		{"the last of the older form", `"user_1_session_2_session_s\u002d1"`, "s-1"},
		{"array", `"[1]_session_s-1"`, "s-1"},
		{"long", `"{\"session_id\":\"` + long + `\"}"`, long[:256]},
		{"long in the older form", `"_session_` + long + `"`, long[:256]},

		{"the last of two is no text", `"{\"session_id\":\"a\",\"session_id\":1}"`, ""},
		{"an object without it", `"{\"a\":\"_session_b\"}"`, ""},
		{"nested", `"{\"a\":{\"session_id\":\"s\"}}"`, ""},
		{"null", `"{\"session_id\":null}"`, ""},
		{"empty", `"{\"session_id\":\"\"}"`, ""},
		{"nothing after it", `"user_1_session_"`, ""},
		{"no session", `"user_1"`, ""},
		{"no text", `{"session_id":"s"}`, ""},
		{"bad escape", `"_session_\x"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(`{"model":"m","metadata":{"user_id":` + tt.userID + `},"x":1}`)
			req, err := api.Scan(body)
			if err != nil {
				t.Fatal(err)
			}
			if got := req.SessionID(body); got != tt.want {
				t.Errorf("session %q, want %q", got, tt.want)
			}
		})
	}
}

// SEL-4b: the models of tools, from their own members only.
func TestScanToolModels(t *testing.T) {
	for _, tt := range []struct {
		name, tools string
		want        []string
	}{
		{"an advisor", `[{"name":"Edit","input_schema":{"properties":{"model":{"type":"string"}}}}, {"type":"advisor","name":"advisor", "model" : "claude-fable-5"}]`, []string{"claude-fable-5"}},
		{"several", `[{"model":"a"},{"model":"b","model":"c"},{"mod\u0065l":"\u0064"}]`, []string{"a", "c", "d"}},
		{"no more than four", `[{"model":"1"},{"model":"2"},{"model":"3"},{"model":"4"},{"model":"5"}]`, []string{"1", "2", "3", "4"}},
		{"others between", `[1,"model",[{"model":"no"}],{"model":"a"},null]`, []string{"a"}},
		{"white space", " [ { \"model\" : \"a\" } ,\n{ } ] ", []string{"a"}},
		{"not a name", `[{"model":1},{"model":""},{"model":{"model":"no"}},{"model":"` + strings.Repeat("m", 257) + `"}]`, nil},
		{"none", `[{"name":"model","description":"\"model\":\"no\""}]`, nil},
		{"empty", `[]`, nil},
		{"an object", `{"model":"no"}`, nil},
		{"deeper faults are the upstream's", `[{"model":"a"},{"b" 1}]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, body := range []string{
				`{"tools":` + tt.tools + `,"model":"m"}`,
				`{"tools":[{"model":"earlier"}],"model":"m","tools":` + tt.tools + `}`,
			} {
				req, err := api.Scan([]byte(body))
				if err != nil || req.Model != "m" {
					t.Fatalf("%s: %+v, %v", body, req, err)
				}
				if diff := cmp.Diff(tt.want, req.ToolModels); diff != "" {
					t.Errorf("%s (-want +got):\n%s", body, diff)
				}
			}
		})
	}
}

// WIRE-5, WIRE-6, RTE-3: only the edited bytes change.
func TestSplice(t *testing.T) {
	body := []byte(`{ "model":"a","n":1.0,"metadata":{"user_id":"{\"account_uuid\":\"old\",\"x\":\"\\u0041\"}"},"stream":true }`)
	want := `{ "model":"claude-\"b\"","n":1.0,"metadata":{"user_id":"{\"account_uuid\":\"` + uuid + `\",\"x\":\"\\u0041\"}"},"stream":true }`
	req, err := api.Scan(body)
	if err != nil {
		t.Fatal(err)
	}
	edits := api.AppendEdits([]wire.Edit{{Span: wire.Span{}, With: []byte("nothing to replace")}}, &req, `claude-"b"`, uuid)
	slices.Reverse(edits)
	segments, length := wire.Splice(body, edits...)
	if got := string(bytes.Join(segments, nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if length != int64(len(want)) {
		t.Errorf("length = %d, want %d", length, len(want))
	}
	if edits[0].Span != req.AccountUUID {
		t.Error("the caller's edits were reordered")
	}
	segments, length = wire.Splice(body)
	if len(segments) != 1 || &segments[0][0] != &body[0] || length != int64(len(body)) {
		t.Error("without edits the body itself is the only segment")
	}
}

// FuzzScan holds Scan and Splice against encoding/json (RTE-2, WIRE-5, WIRE-6, SES-1, SEL-4b).
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"model":"m"}`, `{"model":"m","stream":true,"stream":false}`, `{"mod\u0065l":"m","model":"n"}`, `{"model":"\ud83d\ude00\/\u0000"}`,
		`{"model":"m","metadata":{"user_id":"{\"account_uuid\":\"u\",\"a\":\"\\u0041\"}"}}`,
		`{"model":"m","metadata":{"user_id":"\u007b\u0022account\u005fuuid\u0022:{\"a\":[1]}}"},"metadata":{"user_id":"{\"account_uuid\":null}"}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a \\\"b\\\" {["}]}],"model":"m"}`, "{\"model\":\"a\xff\xc3\"} \n", `{"model":"m",}`, `{"model":"m"}x`,
		`{"model":"m","tools":[{"model":"a","input_schema":{"properties":{"model":{}}}},{"model":1},[{"model":"b"}],{"model":"\u0063"}]}`,
		`{"model":"m","tools":[{"model":"a"}],"tools":{"model":"b"}}`, `{"model":"m","tools":[],"tools":[{"model":"a","model":"b"} , {}]}`,
		`{"model":"m","metadata":{"user_id":"user_1_session_2_session_\u0033"}}`,
		`{"model":"m","metadata":{"user_id":"{\"session_id\":\"\\u0041\",\"account_uuid\":\"u\"}"}}`, "{\"model\":\"" + strings.Repeat("m", 257) + "\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := api.Scan(body)
		if err != nil {
			var invalid *dialect.RequestError
			if !errors.As(err, &invalid) || invalid.Message == "" {
				t.Fatalf("err = %#v", err)
			}
		}
		want, valid := reference(body)
		if !json.Valid(body) {
			return // the scan validates only what it reads: the reference has no opinion
		}
		if valid != (err == nil) {
			t.Fatalf("err = %v, but the reference says %v", err, valid)
		}
		if err != nil {
			return
		}
		if req.Model != want.model || req.Stream != want.stream || (req.AccountUUID != wire.Span{}) != want.hasAccount {
			t.Fatalf("Scan = %+v, reference %+v", req, want)
		}
		if diff := cmp.Diff(want.tools, req.ToolModels); diff != "" {
			t.Fatalf("ToolModels (-reference +got):\n%s", diff)
		}
		if got := req.SessionID(body); len(want.session) <= 256 && got != want.session || len(got) > 256 {
			t.Fatalf("session %q, reference %q", got, want.session)
		}
		for cut := range len(bytes.TrimRight(body, " \t\r\n")) {
			if _, err := api.Scan(body[:cut]); err == nil {
				t.Fatalf("accepted the first %d bytes", cut)
			}
		}
		segments, length := wire.Splice(body, api.AppendEdits(nil, &req, "new-\"model\"", uuid)...)
		edited := bytes.Join(segments, nil)
		if int64(len(edited)) != length {
			t.Fatalf("length = %d of %d bytes", length, len(edited))
		}
		got, valid := reference(edited)
		if !valid || got.model != "new-\"model\"" {
			t.Fatalf("model %q after the edit of %s", got.model, edited)
		}
		if want.hasAccount && got.account != any(uuid) {
			t.Fatalf("account %v after the edit of %s", got.account, edited)
		}
		if diff := cmp.Diff(want.rest, got.rest); diff != "" {
			t.Fatalf("the edit changed more than it should:\n%s", diff)
		}
	})
}

// FuzzSession holds the two readers of one user_id against encoding/json (SES-1, WIRE-6).
func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		``, `{"session_id":"s","account_uuid":"u"}`, `user_1_account_2_session_3`, `{"session_id":"\u0041\"","account_uuid":{"a":1}}`,
		`{"session_id":null}_session_`, `["_session_"]`, "\x00_session_\xff\u2028", `{"a":"_session_b"}`, ` {"session_id":" "} `, "null", "{\"session_id\":\"\xff\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, userID string) {
		body, err := json.Marshal(map[string]any{"model": "m", "metadata": map[string]string{"user_id": userID}})
		if err != nil {
			t.Fatal(err)
		}
		want, _ := reference(body)
		req, err := api.Scan(body)
		if err != nil {
			t.Fatal(err)
		}
		if got := req.SessionID(body); len(want.session) <= 256 && got != want.session || len(got) > 256 {
			t.Fatalf("session %q, reference %q", got, want.session)
		}
		if (req.AccountUUID != wire.Span{}) != want.hasAccount {
			t.Fatalf("AccountUUID = %v, reference %v", req.AccountUUID, want.account)
		}
	})
}

type seen struct {
	model      string
	stream     bool
	account    any
	hasAccount bool
	session    string
	tools      []string
	rest       map[string]any // everything else, decoded
}

// reference reads a body the slow way; false if Scan has to refuse it.
func reference(body []byte) (seen, bool) {
	if !json.Valid(body) || json.Unmarshal(body, &map[string]any{}) != nil || bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return seen{}, false
	}
	rest := map[string]any{}
	models := 0
	decoder := json.NewDecoder(bytes.NewReader(body))
	if _, err := decoder.Token(); err != nil {
		return seen{}, false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return seen{}, false
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil && err != io.EOF {
			return seen{}, false
		}
		if key == "model" {
			models++
		}
		rest[key.(string)] = decodeAny(value)
	}
	var s seen
	s.model, _ = rest["model"].(string)
	s.stream = rest["stream"] == true
	if metadata, ok := rest["metadata"].(map[string]any); ok {
		if userID, ok := metadata["user_id"].(string); ok {
			var inner map[string]any
			if json.Unmarshal([]byte(userID), &inner) != nil || inner == nil {
				if i := strings.LastIndex(userID, "_session_"); i >= 0 {
					s.session = userID[i+len("_session_"):]
				}
			} else {
				s.session, _ = inner["session_id"].(string)
				s.account, s.hasAccount = inner["account_uuid"]
				delete(inner, "account_uuid")
				if s.hasAccount {
					metadata["user_id"] = inner
				}
			}
		}
	}
	tools, _ := rest["tools"].([]any)
	for _, tool := range tools {
		members, _ := tool.(map[string]any)
		if model, _ := members["model"].(string); model != "" && len(model) <= 256 && len(s.tools) < 4 {
			s.tools = append(s.tools, model)
		}
	}
	delete(rest, "model")
	s.rest = rest
	return s, models == 1 && s.model != "" && len(s.model) <= 256
}

func decodeAny(raw []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// BenchmarkScanTools is of a body that is almost nothing but tools, as a session's first turn is: 24 in 80 kB.
func BenchmarkScanTools(b *testing.B) {
	const tool = `{"name":"Tool","description":"%s","input_schema":{"type":"object","properties":{%s"model":{"type":"string"}},"required":["a"]}}`
	property := `"property":{"description":"What it is good for \"quoted\", and where\nit goes","type":"string","enum":["one","two","three"]},`
	one := fmt.Sprintf(tool, strings.Repeat("It does this, and that. ", 60), strings.Repeat(property, 15))
	body := []byte(`{"model":"m","tools":[` + strings.Repeat(one+",", 23) + one + `],"stream":true}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := api.Scan(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"2kB", 2_000}, {"115kB", 115_000}, {"700kB", 700_000}} {
		body := codingTurn(size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := api.Scan(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
