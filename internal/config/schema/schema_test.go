package schema_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/config/schema"
	"shunt/internal/userfile"
)

// garden and bed are decoded from the files of the tests.
type (
	garden struct {
		Name   string
		Wells  int
		Water  watering
		Beds   []*bed
		Labels map[string]*string
		Paths  []string
	}
	watering struct {
		Present bool
		Every   time.Duration
		Share   *float64
	}
	bed struct {
		Name, Crop string
		Rows       []row
	}
	row struct{ Seed string }
)

var names = schema.Pattern(`[a-z-]+`, "a name (a-z and -)")

var keys = &schema.Schema{Prefix: "GARDEN_", Root: schema.Table{
	Keys: []schema.Key{
		{Name: "name", Doc: "The name of the garden.", Binding: schema.Bind(names, func(g *garden) *string { return &g.Name })},
		{Name: "wells", Default: "1", Restart: true, Doc: "How many wells there are.", Binding: schema.Bind(schema.Whole[int](0, 9, ""), func(g *garden) *int { return &g.Wells })},
		{Name: "paths", Doc: "The paths.", Binding: schema.Bind(schema.List("a list of paths", path), func(g *garden) *[]string { return &g.Paths })},
	},
	Tables: []schema.Table{
		{
			Name: "water", Doc: "When to water.", Restart: true,
			Owner:    schema.Part(func(g *garden) *watering { return &g.Water }),
			Presence: func(owner any) *bool { return &owner.(*watering).Present },
			Keys: []schema.Key{
				{Name: "every_hours", Default: "24", Doc: "How often.", Binding: schema.Bind(schema.Duration(1, time.Hour, "(hours)"), func(w *watering) *time.Duration { return &w.Every })},
				{Name: "share", Doc: "How much.", Binding: schema.Bind(schema.Optional(schema.Number(0, 1)), func(w *watering) **float64 { return &w.Share })},
			},
		},
		{
			Name: "beds", Form: schema.Named, Names: names,
			Owner: func(parent any, name string) (any, bool) {
				g := parent.(*garden)
				g.Beds = append(g.Beds, &bed{Name: name})
				return g.Beds[len(g.Beds)-1], true
			},
			Elements: func(parent any) (found []schema.Element) {
				for _, b := range parent.(*garden).Beds {
					found = append(found, schema.Element{Name: b.Name, Owner: b})
				}
				return found
			},
			Keys: []schema.Key{
				{Name: "crop", Default: `"peas"`, Doc: "What grows.", Binding: schema.Bind(schema.Choice("peas", "beans", "kale"), func(b *bed) *string { return &b.Crop })},
			},
			Tables: []schema.Table{{
				Name: "rows", Form: schema.Listed, Short: &schema.Short{Key: "seed", Expect: "a list of seeds or tables"},
				Owner: func(parent any, _ string) (any, bool) {
					b := parent.(*bed)
					b.Rows = append(b.Rows, row{})
					return &b.Rows[len(b.Rows)-1], true
				},
				Keys: []schema.Key{{Name: "seed", Doc: "The seed.", Binding: schema.Bind(names, func(r *row) *string { return &r.Seed })}},
			}},
		},
		{
			Name: "labels", Owner: schema.Part(func(g *garden) *garden { return g }),
			Any: &schema.Key{Name: "<plant>", Doc: "The label of a plant.", Binding: schema.Bind(names, func(s *string) *string { return s })},
			Join: func(owner any, name string) any {
				g, label := owner.(*garden), new(string)
				if g.Labels == nil {
					g.Labels = map[string]*string{}
				}
				g.Labels[name] = label
				return label
			},
		},
	},
}}

func path(text string) (string, error) {
	if !strings.HasPrefix(text, "/") {
		return "", errors.New("begins without a slash")
	}
	return text, nil
}

// load decodes a file and an environment into a garden.
func load(t *testing.T, file string, env ...string) (*garden, *schema.Loader) {
	t.Helper()
	document, problem := schema.Parse([]byte(file))
	if problem != nil {
		t.Fatal(problem)
	}
	l := schema.NewLoader(keys, schema.Source{
		File: "garden.toml", Env: userfile.Environment(env),
		ReadFile: func(string) ([]byte, error) { return nil, errors.New("does not exist") },
	})
	var g garden
	l.Defaults(&g, "[beds.built-in]")
	l.Decode(document, &g)
	l.Override(&g)
	l.NotePresence(&g)
	return &g, l
}

// CFG-2, CFG-3, CFG-4: values come from the environment, else from the file with its references, else from the defaults.
func TestGoodFile(t *testing.T) {
	got, l := load(t, `
name = "${OWNER}-garden"
paths = ["/gate", "/${OWNER}"]
[water]
share = 1
[beds.front-bed]
rows = ["a", { seed = "b" }]
[labels]
"red kale" = "red"
`, "OWNER=ann", "GARDEN_WELLS=no configuration", "GARDEN_WATER__EVERY_HOURS=2", "GARDEN_BEDS__FRONT_BED__CROP=kale", "GARDEN_OTHER__KEY=ignored", "OTHER_WATER__SHARE=ignored")
	red, one := "red", 1.0
	want := &garden{
		Name: "ann-garden", Wells: 1, Water: watering{Present: true, Every: 2 * time.Hour, Share: &one},
		Beds:   []*bed{{Name: "built-in", Crop: "peas"}, {Name: "front-bed", Crop: "kale", Rows: []row{{"a"}, {"b"}}}},
		Labels: map[string]*string{"red kale": &red}, Paths: []string{"/gate", "/ann"},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(l.Problems()) > 0 {
		t.Errorf("problems %v\n-want +got:\n%s", l.Problems(), diff)
	}
	if empty, _ := load(t, ""); empty.Water.Present || empty.Water.Every != 24*time.Hour {
		t.Errorf("without a file: %+v", empty.Water)
	}
}

// CFG-2, CFG-3: all problems are reported together, each with its line or its variable, and none with a value.
func TestProblems(t *testing.T) {
	_, l := load(t, `
nmae = "hush"
wells = "hush"
paths = ["/a", "hush"]
every_hours = 3
[water]
share = 1.5
every_hours = nan
[beds.front]
crop = "${HUSH}"
rows = 3
tools = {}
[beds."Hush Hush"]
[beds.a_b]
[beds.a-b]
[labels]
plant = "${file:/secret}"
`, "HUSH=hush", "GARDEN_WATER__SHRE=hush", "GARDEN_WATER__EVERY_HOURS=hush", "GARDEN_BEDS__FRONT__ROWS__1=hush", "GARDEN_BEDS__A_B__CROP=kale", "GARDEN_BEDS__UNKNOWN__CROP=hush")
	const want = `garden.toml:2: nmae: unknown key; did you mean name?
garden.toml:3: wells: is a string; it must be a whole number from 0 to 9
garden.toml:4: paths: begins without a slash
garden.toml:5: every_hours: unknown key; did you mean water.every_hours?
garden.toml:7: water.share: must be a number from 0 to 1
garden.toml:8: water.every_hours: is a floating-point number; it must be a whole number from 1 to 8760 (hours)
garden.toml:10: beds.front.crop: must be "peas", "beans" or "kale"
garden.toml:11: beds.front.rows: must be a list of seeds or tables
garden.toml:12: beds.front.tools: unknown table; known here: rows
garden.toml:13: beds."Hush Hush": is not a name (a-z and -)
garden.toml:14: beds.a_b: is not a name (a-z and -)
garden.toml:17: labels.plant: the file /secret does not exist
GARDEN_BEDS__A_B__CROP: could set the key of more than one table; rename one of them or set the key in the file
GARDEN_BEDS__FRONT__ROWS__1: beds.front.rows is a list, which only the file can set
GARDEN_BEDS__UNKNOWN__CROP: unknown key; a variable can set only a key that the reference lists, in a table that is built in or in the file
GARDEN_WATER__EVERY_HOURS: must be a whole number from 1 to 8760 (hours)
GARDEN_WATER__SHRE: unknown key; did you mean GARDEN_WATER__SHARE?`
	if diff := cmp.Diff(want, l.Problems().Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !l.Failed(schema.At("water").Of("share")) || l.Failed(schema.At("").Of("name")) {
		t.Error("a wrong value has not failed, or a value that is not there has")
	}
}

// A caller's own problems are at the key, or at the innermost table that is there.
func TestReport(t *testing.T) {
	_, l := load(t, "\n[water]\nshare = 1", "GARDEN_WATER__EVERY_HOURS=2")
	water := schema.At("water")
	l.Report(water.Of("share"), "is odd")
	l.Report(water.Of("cans"), "is missing")
	l.Report(water.Of("every_hours"), "is odd")
	l.Warn(schema.At("").Of("name"), "is missing")
	const want = "garden.toml:2: water.cans: is missing\ngarden.toml:3: water.share: is odd\nGARDEN_WATER__EVERY_HOURS: is odd"
	if got := l.Problems().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := l.Warnings().Error(); got != "garden.toml: name: is missing" {
		t.Errorf("warning %s", got)
	}
}

// A table that is rejected is reported, with its own problems, and not decoded.
func TestReject(t *testing.T) {
	document, _ := schema.Parse([]byte("[water]\nshare = 2"))
	l := schema.NewLoader(keys, schema.Source{File: "garden.toml"})
	var g garden
	l.Reject(document, "water", &garden{}, "is not wanted")
	l.Decode(document, &g)
	const want = "garden.toml:1: water: is not wanted\ngarden.toml:2: water.share: must be a number from 0 to 1"
	if got := l.Problems().Error(); got != want || g.Water.Share != nil {
		t.Errorf("got\n%s\nwant\n%s\nand %+v", got, want, g.Water)
	}
}

// CFG-51: only keys that need a restart are listed, and a table whose presence does.
func TestChanged(t *testing.T) {
	before, _ := load(t, "")
	after, _ := load(t, "wells = 2\nname = 'x'\n[water]\n")
	if got := fmt.Sprint(keys.Changed(before, after)); got != "[wells water]" {
		t.Errorf("changed: %s", got)
	}
}

var update = flag.Bool("update", false, "rewrite testdata/reference.txt")

// The reference has every table and key with its documentation.
func TestSections(t *testing.T) {
	var got bytes.Buffer
	for _, s := range keys.Sections() {
		fmt.Fprintf(&got, "%s %s\n", s.Heading, s.Doc)
		for _, k := range s.Keys {
			fmt.Fprintf(&got, "  %s: %s Write %s.", k.Name, k.Doc, k.Expect)
			if k.Default != "" {
				fmt.Fprintf(&got, " Default: %s.", k.Default)
			}
			if k.Restart {
				got.WriteString(" At the next start.")
			}
			got.WriteByte('\n')
		}
	}
	const file = "testdata/reference.txt"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
