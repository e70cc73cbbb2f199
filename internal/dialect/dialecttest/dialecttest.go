// Package dialecttest is the conformance test of the contracts of package dialect, which every dialect runs.
package dialecttest

import (
	"bytes"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/wire"
	"shunt/internal/wire/wiretest"
)

// Example is a turn in a dialect.
type Example struct {
	Inbound  dialect.Inbound
	Outbound dialect.Outbound

	Header  http.Header // of a request, with its session
	Session string
	Body    string // of a request that streams, with an account's UUID if the dialect has one; it has no tools with models
	Model   string // of the request and of the responses

	Response string // one JSON document
	Stream   string // of events
	Usage    dialect.Usage

	// Continued is a piece of a stream that may follow its first event.
	Continued string
}

const (
	otherModel   = "another-\"model\""
	otherAccount = "33333333-3333-4333-8333-333333333333"
)

// Run tests a dialect with an example of it.
func Run(t *testing.T, e Example) {
	for name, test := range map[string]func(*testing.T, Example){
		"Request": request, "Edits": edits, "Truncated": truncated, "Errors": errorBodies, "ErrorEvents": errorEvents, "Delays": delays, "Cuts": cuts, "Pings": pings,
		"FirstEvent": firstEvent, "Models": models, "Meter": meter, "StreamMeter": streamMeter,
	} {
		t.Run(name, func(t *testing.T) { test(t, e) })
	}
}

func request(t *testing.T, e Example) {
	if got := e.Inbound.Session(e.Header); got != e.Session {
		t.Errorf("the header names session %q, want %q", got, e.Session)
	}
	if got := e.Inbound.Session(http.Header{}); got != "" {
		t.Errorf("an empty header names session %q", got)
	}
	r := scan(t, e, e.Body)
	if r.Model != e.Model || !r.Stream {
		t.Errorf("scanned %+v", r)
	}
	if model, ok := e.Inbound.LeadingModel([]byte(e.Body)); !ok || model != e.Model {
		t.Errorf("leading model %q, %v", model, ok)
	}
	if len(e.Inbound.Endpoints()) == 0 || e.Inbound.TokenAdvice() == "" {
		t.Error("a dialect has endpoints and says how to send a token")
	}
}

func scan(t *testing.T, e Example, body string) dialect.Request {
	t.Helper()
	r, err := e.Inbound.Scan([]byte(body))
	if err != nil {
		t.Fatalf("scan %s: %v", body, err)
	}
	return r
}

// edits: the body that is sent upstream is the client's, except for its model and its account (WIRE-5, WIRE-6).
func edits(t *testing.T, e Example) {
	body := []byte(e.Body)
	r := scan(t, e, e.Body)
	if unchanged := e.Inbound.AppendEdits(nil, &r, e.Model, ""); len(unchanged) != 0 {
		t.Errorf("edits without a change: %+v", unchanged)
	}
	segments, length := wire.Splice(body, e.Inbound.AppendEdits(nil, &r, otherModel, otherAccount)...)
	edited := bytes.Join(segments, nil)
	if int64(len(edited)) != length {
		t.Errorf("%d bytes, declared %d", len(edited), length)
	}
	again := scan(t, e, string(edited))
	if names := r.AccountUUID != (wire.Span{}); again.Model != otherModel || bytes.Contains(edited, []byte(otherAccount)) != names {
		t.Errorf("model %q in %s", again.Model, edited)
	}
	if segments, _ := wire.Splice(edited, e.Inbound.AppendEdits(nil, &again, e.Model, "")...); scan(t, e, string(bytes.Join(segments, nil))).Model != e.Model {
		t.Error("the model cannot be restored")
	}
}

// truncated: a truncated body is rejected, wherever it ends.
func truncated(t *testing.T, e Example) {
	whole := bytes.TrimSpace([]byte(e.Body))
	for cut := range whole {
		if _, err := e.Inbound.Scan(whole[:cut]); err == nil {
			t.Fatalf("accepted %s", whole[:cut])
		}
	}
}

// kinds are the errors that shunt sends.
var kinds = []dialect.ErrorKind{
	dialect.InvalidRequest, dialect.Authentication, dialect.Permission, dialect.NotFound, dialect.TooLarge, dialect.RateLimit,
	dialect.ServerError, dialect.Overloaded, dialect.Timeout,
}

// errorBodies: an error that shunt sends is one that it understands (ERR-1).
func errorBodies(t *testing.T, e Example) {
	const message = "a \"message\"\nof two lines"
	for _, kind := range kinds {
		sent := &dialect.Error{Kind: kind, Message: message}
		got, ok := e.Outbound.ParseError(e.Inbound.AppendError(nil, sent, "req_1"))
		if !ok || got.Kind != kind || got.Message != message {
			t.Errorf("%+v, %v; want %+v", got, ok, sent)
		}
	}
	if _, ok := e.Outbound.ParseError([]byte(e.Response)); ok {
		t.Error("a response counts as an error")
	}
}

// errorEvents: a stream that begins with one of the upstream's own failures is a failure (FO-11); anywhere else it ends the
// stream (OBS-1).
func errorEvents(t *testing.T, e Example) {
	for _, kind := range []dialect.ErrorKind{dialect.ServerError, dialect.Overloaded, dialect.RateLimit, dialect.InvalidRequest} {
		event := e.Inbound.AppendErrorEvent(nil, &dialect.Error{Kind: kind, Message: "m"})
		first, found := e.Inbound.FirstEvent(event)
		fails := kind != dialect.InvalidRequest
		if !found || (first.Failure != nil) != fails || fails && first.Failure.Kind != kind || first.End != len(event) {
			t.Errorf("kind %v: %+v, %v", kind, first, found)
		}
		m := e.Inbound.NewStreamMeter()
		m.Write([]byte(e.Continued))
		m.Write(event)
		if !m.Complete() || m.Failure() == "" {
			t.Errorf("kind %v after the beginning: complete %v, failure %q", kind, m.Complete(), m.Failure())
		}
	}
}

// delays: no client waits longer than it has to (GPT-12).
func delays(t *testing.T, e Example) {
	for _, kind := range append(kinds, dialect.QuotaExhausted, dialect.NoAccount) {
		for _, wait := range []time.Duration{0, time.Second, time.Minute, 24 * time.Hour} {
			if got := e.Inbound.RetryAfter(kind, wait); got < 0 || got > wait {
				t.Errorf("kind %v, %v: %v", kind, wait, got)
			}
		}
	}
}

// cuts: a body without reasoning has nothing to cut (GPT-10b).
func cuts(t *testing.T, e Example) {
	if got := e.Inbound.AppendReasoningCuts(nil, []byte(e.Body)); len(got) != 0 {
		t.Errorf("cuts %+v", got)
	}
}

// pings: a ping of shunt's own is not the upstream's first event, and changes no count (WIRE-12).
func pings(t *testing.T, e Example) {
	ping := e.Inbound.Ping()
	if _, found := e.Inbound.FirstEvent(ping); found {
		t.Error("a ping counts as the first event")
	}
	var b wire.Boundary
	if b.Write(ping); !b.AtEnd() {
		t.Error("no event may follow a ping")
	}
	first, found := e.Inbound.FirstEvent(append(bytes.Clone(ping), e.Stream...))
	alone, _ := e.Inbound.FirstEvent([]byte(e.Stream))
	if !found || first.Start != len(ping)+alone.Start {
		t.Errorf("behind a ping: %+v, %v", first, found)
	}
}

// firstEvent: the model can be restored in the first event (RTE-3), which is found as soon as it is complete.
func firstEvent(t *testing.T, e Example) {
	first, found := e.Inbound.FirstEvent([]byte(e.Stream))
	if !found || first.Failure != nil {
		t.Fatalf("%+v, %v", first, found)
	}
	named := 0
	for pos := 0; pos < len(e.Stream); {
		event, ended := wire.NextEvent([]byte(e.Stream), pos)
		if !ended {
			t.Fatalf("the stream is truncated at %d", pos)
		}
		for _, span := range e.Inbound.EventModels(nil, &event) {
			if got := e.Stream[span.Start:span.End]; got != string(wire.Quote(e.Model)) {
				t.Errorf("model %s", got)
			}
			named++
		}
		pos = event.End
	}
	if named == 0 || named > 1 && !e.Inbound.NamesModelAgain() {
		t.Errorf("%d events name the model", named)
	}
	for cut := range first.End {
		if _, found := e.Inbound.FirstEvent([]byte(e.Stream[:cut])); found {
			t.Fatalf("found in %q", e.Stream[:cut])
		}
	}
	span, ok := e.Inbound.ResponseModel([]byte(e.Response))
	if got := e.Response[span.Start:span.End]; !ok || got != string(wire.Quote(e.Model)) {
		t.Errorf("model of the response: %s, %v", got, ok)
	}
}

func models(t *testing.T, e Example) {
	for _, want := range [][]dialect.Model{{}, {{ID: "a", DisplayName: "A"}, {ID: "b/\"c\"", DisplayName: "B"}}} {
		got, err := e.Outbound.ParseModels(e.Inbound.AppendModels(nil, want))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got { // some dialects have no names for people
			if got[i].DisplayName == "" {
				got[i].DisplayName = want[i].DisplayName
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := e.Outbound.ParseModels([]byte("no list")); err == nil {
		t.Error("something else counts as a list")
	}
	base := &url.URL{Scheme: "https", Host: "provider.example", Path: "/below"}
	if u := e.Outbound.ModelsURL(base, http.Header{}); u.Host != base.Host || !bytes.HasPrefix([]byte(u.Path), []byte("/below/")) {
		t.Errorf("models are listed at %v", u)
	}
}

func meter(t *testing.T, e Example) {
	for cuts := range uint64(50) {
		m := e.Inbound.NewMeter()
		for _, chunk := range wiretest.Chunks([]byte(e.Response), cuts*0x9e3779b97f4a7c15) {
			m.Write(chunk)
		}
		if got := m.Usage(); got != e.Usage {
			t.Fatalf("cuts %d: %+v, want %+v", cuts, got, e.Usage)
		}
	}
}

func streamMeter(t *testing.T, e Example) {
	for cuts := range uint64(50) {
		m := e.Inbound.NewStreamMeter()
		for _, chunk := range wiretest.Chunks([]byte(e.Stream), cuts*0x9e3779b97f4a7c15) {
			if m.Complete() {
				t.Fatalf("cuts %d: complete before its end", cuts)
			}
			m.Write(chunk)
		}
		if got := m.Usage(); got != e.Usage || !m.Complete() || m.Failure() != "" {
			t.Fatalf("cuts %d: %+v, complete %v, failure %q", cuts, got, m.Complete(), m.Failure())
		}
	}
}
