package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReport(t *testing.T) {
	r := report{name: "shunt", head: []string{"Machine: one"}}
	r.add(compare("requests", microseconds, [2][]float64{{50e-6, 40e-6, 60e-6}, {55e-6, 40e-6, 57e-6}}, atMost(1)))
	r.add(compare("memory", megabytes, [2][]float64{{8e6}, {24e6}}, below(25e6, megabytes)))
	r.add(worst("lost", [2]int{0, 3}, noneAtAll()))
	r.add(alone("binary", megabytes, 26e6, below(25e6, megabytes)))
	r.add(compare("first byte", milliseconds, [2][]float64{{1e-3}, {2e-3}}, goal{}))
	r.note("one\nmore")
	const want = `# shunt compared with a bare reverse proxy

- Machine: one

| measurement |     bare |    shunt | ratio | smallest–largest |    target | met |
|-------------|---------:|---------:|------:|-----------------:|----------:|----:|
| requests    |  50.0 µs |  55.0 µs | 1.000 |      0.950–1.100 |    ≤ 1.00 | yes |
| memory      |   8.0 MB |  24.0 MB | 3.000 |                – | ≤ 25.0 MB | yes |
| lost        |        0 |        3 |     – |                – |         0 |  no |
| binary      |        – |  26.0 MB |     – |                – | ≤ 25.0 MB |  no |
| first byte  | 1.000 ms | 2.000 ms | 2.000 |                – |         – |   – |

- one more
`
	if got := r.markdown(); got != want {
		t.Errorf("%s", got)
	}
}

func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "RESULTS.md")
	for _, text := range []string{"a longer one", "short"} {
		if err := writeFile(path, text); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(dir, "taken"), "text"); err == nil {
		t.Error("a folder was overwritten")
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCommand(t *testing.T) {
	args := []string{"-only", "16 in", "-header", "x-api-key: hidden", "--header=authorization: Bearer hidden", "-for", "1s", "-header", "accept:"}
	const want = `go run . -only '16 in' -header 'x-api-key: ...' '--header=authorization: ...' -for 1s -header 'accept: ...'`
	if got := command(args); got != want {
		t.Error(got)
	}
}
