package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"shunt/internal/dialect"
	"shunt/internal/dialect/chat"
	"shunt/internal/dialect/messages"
	"shunt/internal/dialect/responses"
)

var update = flag.Bool("update", false, "write what translation gives into the golden conversations")

// The dialects that a golden conversation may name.
var (
	inbound = map[string]dialect.Inbound{
		"messages": messages.Dialect{}, "responses": responses.Dialect{}, "chat": chat.Dialect{},
	}
	outbound = map[string]dialect.Outbound{
		"messages": messages.Dialect{}, "responses": responses.Dialect{}, "chat": chat.Dialect{},
	}
)

// golden is a conversation in a file of testdata. Its comment has lines "key: value" and free text; the keys are those of
// header. Its sections are:
//
//	request.json           what the client sends
//	upstream-request.json  what the upstream gets
//	upstream-response.sse  what the upstream sends: a stream
//	upstream-response.json the same as one document
//	response.sse           what the client gets: a stream
//	response.json          the same as one document
//	error.json             what the client gets if the request cannot be translated
//
// Each of the upstream's responses is translated to each of the client's, but a document to a stream only if the upstream's
// stream, which has more deltas, is not there. The envelope of reasoning is written
// {{seal FAMILY IDENTITY ID OPAQUE}}, with "-" for what is empty and a fifth word, redacted, for reasoning that is.
type golden struct {
	file    string
	archive *txtar.Archive
	header  map[string]string
}

// header lists the keys of a golden conversation: the dialects, and members of the target.
var header = []string{"client", "upstream", "origin", "model", "session", "accepts", "path", "bound", "dropped"}

// DIA-1: every golden conversation is translated as it says, however its response is divided into chunks (DIA-3).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			g := readGolden(t, file)
			g.run(t)
			if *update {
				if err := os.WriteFile(file, txtar.Format(g.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func readGolden(t *testing.T, file string) *golden {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{file: file, archive: archive, header: map[string]string{"model": "upstream-model", "origin": "family/identity", "accepts": "{}"}}
	for line := range strings.Lines(string(archive.Comment)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && slices.Contains(header, key) {
			g.header[key] = value
		}
	}
	return g
}

func (g *golden) section(name string) *txtar.File {
	for i := range g.archive.Files {
		if g.archive.Files[i].Name == name {
			return &g.archive.Files[i]
		}
	}
	return nil
}

func (g *golden) run(t *testing.T) {
	client, ok := inbound[g.header["client"]]
	if !ok {
		t.Fatalf("clients do not speak %q: add it to inbound (%v)", g.header["client"], slices.Sorted(maps.Keys(inbound)))
	}
	upstream, ok := outbound[g.header["upstream"]]
	if !ok {
		t.Fatalf("upstreams do not speak %q: add it to outbound (%v)", g.header["upstream"], slices.Sorted(maps.Keys(outbound)))
	}
	request := g.section("request.json")
	if request == nil {
		t.Fatal("there is no request.json")
	}
	target := g.target(t)
	turn, err := client.ReadTurn(unseal(request.Data))
	var encoded dialect.Encoded
	if err == nil {
		encoded, err = upstream.Encode(turn, target)
	}
	if want := g.section("error.json"); want != nil || err != nil {
		g.checkError(t, client, want, err)
		return
	}
	g.checkRequest(t, &encoded)
	for _, from := range []string{"upstream-response.sse", "upstream-response.json"} {
		for _, to := range []string{"response.sse", "response.json"} {
			response, want := g.section(from), g.section(to)
			if response == nil || want == nil || from == "upstream-response.json" && to == "response.sse" && g.section("upstream-response.sse") != nil {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				asked := *turn
				asked.Stream = to == "response.sse"
				for cuts := range uint64(30) {
					got := translate(upstream.NewReader(&encoded, from == "upstream-response.sse"), client, dialect.ResponseOptions{
						Turn: &asked, Origin: target.Origin, Created: time.Unix(1_700_000_000, 0),
					}, unseal(response.Data), cuts)
					g.check(t, want, got)
					if t.Failed() {
						t.Fatalf("division into chunks: %d", cuts)
					}
				}
			})
		}
	}
}

func (g *golden) target(t *testing.T) *dialect.Target {
	family, identity, _ := strings.Cut(g.header["origin"], "/")
	target := &dialect.Target{Model: g.header["model"], Session: g.header["session"], Origin: dialect.Origin{Family: family, Identity: identity}}
	if err := json.Unmarshal([]byte(g.header["accepts"]), &target.Accepts); err != nil {
		t.Fatalf("accepts: %v", err)
	}
	return target
}

func (g *golden) checkError(t *testing.T, client dialect.Inbound, want *txtar.File, err error) {
	var rejected *dialect.RequestError
	if !errors.As(err, &rejected) || want == nil {
		t.Fatalf("the request is translated with error %v", err)
	}
	e := &dialect.Error{Kind: dialect.InvalidRequest, Status: 400, Message: rejected.Message}
	if status := client.Status(e); status != 400 {
		t.Errorf("status %d", status)
	}
	g.check(t, want, client.AppendError(nil, e, ""))
}

func (g *golden) checkRequest(t *testing.T, e *dialect.Encoded) {
	if path := g.header["path"]; path != "" && e.Path != path {
		t.Errorf("path %q, want %q", e.Path, path)
	}
	if bound := g.header["bound"]; bound != "" && fmt.Sprint(e.Bound) != bound {
		t.Errorf("bound to its origin: %v, want %s", e.Bound, bound)
	}
	if dropped := g.header["dropped"]; dropped != "" && fmt.Sprint(e.Dropped) != dropped {
		t.Errorf("%d pieces of reasoning dropped, want %s", e.Dropped, dropped)
	}
	if want := g.section("upstream-request.json"); want != nil {
		g.check(t, want, e.Body)
	}
}

// check compares what a section says with what translation gives, or writes that into the section.
func (g *golden) check(t *testing.T, want *txtar.File, got []byte) {
	t.Helper()
	pretty := seal(indent)
	if strings.HasSuffix(want.Name, ".sse") {
		pretty = seal(func(b []byte) ([]byte, error) { return b, nil })
	}
	text, err := pretty(got)
	if err != nil {
		t.Fatalf("%s: %v in %s", want.Name, err, got)
	}
	if *update {
		want.Data = text
		return
	}
	if diff := cmp.Diff(canonical(t, want.Name, want.Data), canonical(t, want.Name, text)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", want.Name, diff)
	}
}

func indent(document []byte) ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, document, "", "  ")
	return append(b.Bytes(), '\n'), err
}

// canonical returns the values in a document, or those in the events of a stream with their names.
func canonical(t *testing.T, name string, text []byte) any {
	if !strings.HasSuffix(name, ".sse") {
		return decode(t, text)
	}
	var events []any
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.HasPrefix(data, "{") {
			events = append(events, decode(t, []byte(data)))
		} else {
			events = append(events, line)
		}
	}
	return events
}

func decode(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// translate returns what a client gets for the response of an upstream.
func translate(r dialect.ResponseReader, client dialect.Inbound, o dialect.ResponseOptions, response []byte, cuts uint64) []byte {
	w := client.NewWriter(o)
	var out []byte
	write := func(events []dialect.Event) {
		for i := range events {
			if out = w.Write(out, &events[i]); events[i].Kind == dialect.Failed && !o.Turn.Stream {
				out = client.AppendError(out, events[i].Err, "")
			}
		}
	}
	random := rand.New(rand.NewPCG(cuts, 1))
	for len(response) > 0 {
		n := len(response)
		if cuts > 0 {
			n = min(1+random.IntN(1<<(cuts%10)), n)
		}
		chunk := bytes.Clone(response[:n])
		write(r.Read(nil, chunk))
		clear(chunk) // events do not outlive their chunk
		response = response[n:]
	}
	write(r.End(nil))
	return out
}

var (
	sealed   = regexp.MustCompile(`\{\{seal ([^ }]+) ([^ }]+) ([^ }]+) ([^ }]+)( redacted)?\}\}`)
	envelope = regexp.MustCompile(dialect.EnvelopeMark + `[A-Za-z0-9_-]+`)
)

// unseal replaces the readable form of envelopes with envelopes.
func unseal(text []byte) []byte {
	return sealed.ReplaceAllFunc(text, func(match []byte) []byte {
		words := sealed.FindStringSubmatch(string(match))
		for i := range words {
			if words[i] == "-" {
				words[i] = ""
			}
		}
		return []byte(dialect.Seal(&dialect.Reasoning{
			Origin: dialect.Origin{Family: words[1], Identity: words[2]}, ID: words[3], Opaque: words[4], Redacted: words[5] != "",
		}))
	})
}

// seal returns a form that also replaces envelopes with their readable form.
func seal(form func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		text, err := form(text)
		return envelope.ReplaceAllFunc(text, func(match []byte) []byte {
			r, ok := dialect.Open(string(match))
			if !ok {
				return match
			}
			words := []string{r.Origin.Family, r.Origin.Identity, r.ID, r.Opaque}
			for i := range words {
				if words[i] == "" {
					words[i] = "-"
				}
			}
			if r.Redacted {
				words = append(words, "redacted")
			}
			return []byte("{{seal " + strings.Join(words, " ") + "}}")
		}), err
	}
}
