package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events returns the output of go test -json for lines of the form "action package test output".
func events(lines ...string) *strings.Reader {
	var b strings.Builder
	for _, line := range lines {
		f := append(strings.SplitN(line, " ", 4), "", "", "")
		key := "Package"
		if strings.HasPrefix(f[0], "build") {
			key = "ImportPath"
		}
		fmt.Fprintf(&b, `{"Action":%q,%q:%q,"Test":%q,"Output":%q}`+"\n", f[0], key, f[1], f[2], f[3]+"\n")
	}
	return strings.NewReader(b.String())
}

// Everything but a passed test counts as a failure, and only its output is shown.
func TestTally(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		want   count
		shown  []string
	}{
		{
			name:   "all pass",
			events: []string{"run p A", "output p A quiet", "run p A/1", "pass p A/1", "pass p A", "pass p", "skip q"},
			want:   count{2, 0, "2 packages, 2 tests, 1 packages without tests"},
		},
		{
			name:   "a failed test",
			events: []string{"output p A quiet", "output p B loud", "pass p A", "fail p B", "output p  ending", "fail p"},
			want:   count{1, 1, "1 packages, 2 tests"},
			shown:  []string{"loud", "ending"},
		},
		{
			name:   "a skipped test",
			events: []string{"output p A because", "skip p A", "pass p"},
			want:   count{0, 1, "1 packages, 1 tests, 1 skipped (they count as failed)"},
			shown:  []string{"because"},
		},
		{
			name:   "a package that does not build",
			events: []string{"build-output p  no such type", "build-fail p", "output p  build failed", "fail p", "pass q A", "pass q"},
			want:   count{1, 1, "2 packages, 2 tests"},
			shown:  []string{"no such type", "build failed"},
		},
		{
			name:   "a package that dies in a test",
			events: []string{"output p A panic", "output p  exit status 2", "fail p"},
			want:   count{0, 1, "1 packages, 1 tests"},
			shown:  []string{"panic", "exit status 2"},
		},
		{
			name:   "a leak after tests that passed",
			events: []string{"pass p A", "output p  leaked", "fail p"},
			want:   count{1, 1, "1 packages, 2 tests"},
			shown:  []string{"leaked"},
		},
		{
			name:   "nothing at all",
			events: []string{"skip p"},
			want:   count{0, 1, "no test ran"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			tally := tally{show: &out}
			if err := tally.read(events(c.events...)); err != nil {
				t.Fatal(err)
			}
			if got := tally.count(); got != c.want {
				t.Errorf("counted %+v, want %+v", got, c.want)
			}
			for _, text := range append(c.shown, "p") {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing in:\n%s", text, out.String())
				}
			}
			if strings.Contains(out.String(), "quiet") {
				t.Errorf("output of a test that passed:\n%s", out.String())
			}
		})
	}
}

func TestParseTargets(t *testing.T) {
	got, err := parseTargets(events("start p", "output p  FuzzA", "output p  FuzzB", "output p  ok p 0.1s", "pass p", "output q  FuzzC"))
	if err != nil {
		t.Fatal(err)
	}
	want := []target{{"p", "FuzzA"}, {"p", "FuzzB"}, {"q", "FuzzC"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" {
		t.Error(diff)
	}
}

// A target that ran out of time is not one that found a failing input, however late.
func TestTimedOut(t *testing.T) {
	const late = "--- FAIL: FuzzA (5.01s)\n    context deadline exceeded\nFAIL\n"
	for out, want := range map[string]bool{
		late: true,
		late + "Failing input written to testdata/fuzz/FuzzA/1\n":                                    false,
		"--- FAIL: FuzzA (1.00s)\n    a_test.go:7: dial: context deadline exceeded (Client)\nFAIL\n": false,
	} {
		if got := timedOut([]byte(out)); got != want {
			t.Errorf("%v for %s", got, out)
		}
	}
}
